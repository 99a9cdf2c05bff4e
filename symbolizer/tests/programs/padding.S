/* A function without a size, one with, padding after that, and the end of the section. */
    .text
    .globl unsized
unsized:
    nop
    nop
    .globl sized
    .type sized, @function
sized:
    nop
    .size sized, . - sized
    .fill 16, 1, 0xcc
    .globl main
    .type main, @function
main:
    ret
    .size main, . - main
    .section .note.GNU-stack, "", @progbits
