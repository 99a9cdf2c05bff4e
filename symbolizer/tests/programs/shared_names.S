/* Debug information whose one function has its name in a supplementary file: by GNU's forms and
   `.gnu_debugaltlink`, or with -DSTANDARD by those of DWARF 5. With -DCOMMON that file. Assembled by
   hand, for where no tool is at hand that makes such files. */
#ifdef COMMON
    .section .debug_str, "", @progbits
    .byte 0
    .asciz "name_of_the_common_file"
#ifdef STANDARD
    .section .debug_sup, "", @progbits
    .short 5
    .byte 1, 0 /* supplementary; no name */
    .uleb128 4
    .byte 0xde, 0xad, 0xbe, 0xef
#else
    .section .note.gnu.build-id, "a", @note
    .long 4, 4, 3
    .asciz "GNU"
    .byte 0xde, 0xad, 0xbe, 0xef
#endif
#else
    .text
    .globl main
    .type main, @function
main:
    nop
    nop
    nop
.Lend:
    .size main, . - main

    .section .debug_abbrev, "", @progbits
    .uleb128 1, 0x11 /* DW_TAG_compile_unit */
    .byte 1
    .uleb128 0x11, 0x01, 0x12, 0x07, 0, 0 /* low_pc: addr, high_pc: data8 */
    .uleb128 2, 0x2e /* DW_TAG_subprogram */
    .byte 0
#ifdef STANDARD
    .uleb128 0x03, 0x1d /* name: strp_sup */
#else
    .uleb128 0x03, 0x1f21 /* name: GNU_strp_alt */
#endif
    .uleb128 0x11, 0x01, 0x12, 0x07, 0, 0
    .byte 0

    .section .debug_info, "", @progbits
    .long .Linfo_end - .Linfo
.Linfo:
#ifdef STANDARD
    .short 5
    .byte 1, 8 /* DW_UT_compile, bytes in an address */
    .long 0
#else
    .short 4
    .long 0
    .byte 8
#endif
    .uleb128 1
    .quad main
    .quad .Lend - main
    .uleb128 2
    .long 1
    .quad main
    .quad .Lend - main
    .byte 0
.Linfo_end:

#ifdef STANDARD
    .section .debug_sup, "", @progbits
    .short 5
    .byte 0
    .asciz "common.debug"
    .uleb128 4
#else
    .section .gnu_debugaltlink, "", @progbits
    .asciz "common.debug"
#endif
    .byte 0xde, 0xad, 0xbe, 0xef
#endif
    .section .note.GNU-stack, "", @progbits
