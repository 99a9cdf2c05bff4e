/* Functions of every shape that makes unwinding hard. Each exported function
   takes a callback and calls it from inside its shape. */

#include <alloca.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void visit_fn(void);

#define NOINLINE __attribute__((noinline))

static visit_fn *current;
static volatile long sink;

/* Recursion with one stack frame size per residue. */
NOINLINE static long descend(int depth, visit_fn *visit) {
    volatile char room[64];
    room[depth % 64] = (char)depth;
    if (depth == 0) {
        visit();
        return room[0];
    }
    return descend(depth - 1, visit) + room[depth % 64] + 1;
}

long recursion(visit_fn *visit) { return descend(30, visit) + 1; }

/* A stack frame of a size known only at run time. */
NOINLINE static long dynamic(int size, visit_fn *visit) {
    char *room = alloca(size);
    memset(room, size, size);
    visit();
    return room[size / 2];
}

long dynamic_frames(visit_fn *visit) {
    long sum = 0;
    for (int size = 1; size < 5000; size += 997)
        sum += dynamic(size, visit);
    return sum;
}

/* A stack frame aligned more strictly than the stack. */
NOINLINE static long aligned(int depth, visit_fn *visit) {
    volatile char room[256] __attribute__((aligned(128)));
    room[depth] = 1;
    if (depth)
        return aligned(depth - 1, visit) + room[depth];
    visit();
    return room[0];
}

long realigned_frames(visit_fn *visit) { return aligned(3, visit) + 1; }

/* The same, with a size known only at run time. */
NOINLINE static long aligned_dynamic(int size, visit_fn *visit) {
    volatile char room[256] __attribute__((aligned(64)));
    char *more = alloca(size);
    memset(more, 1, size);
    room[1] = 1;
    visit();
    return more[size - 1] + room[1];
}

long realigned_dynamic_frames(visit_fn *visit) {
    return aligned_dynamic(100, visit) + aligned_dynamic(3000, visit);
}

/* Out of the C library and back. */
static int compare(const void *a, const void *b) {
    current();
    return *(const int *)a - *(const int *)b;
}

long sorting(visit_fn *visit) {
    int items[9] = {5, 3, 8, 1, 9, 2, 7, 4, 6};
    current = visit;
    qsort(items, 9, sizeof *items, compare);
    int key = 7;
    return bsearch(&key, items, 9, sizeof *items, compare) != NULL;
}

/* A call that does not return is the last instruction of its function. */
static jmp_buf back;

NOINLINE __attribute__((noreturn)) static void leave(visit_fn *visit) {
    visit();
    longjmp(back, 1);
}

NOINLINE static void last_call(visit_fn *visit) {
    sink++;
    leave(visit);
}

long no_return(visit_fn *visit) {
    if (setjmp(back) == 0)
        last_call(visit);
    return sink;
}

/* Many registers saved, many arguments on the stack, variable arguments. */
NOINLINE static long many(long a, long b, long c, long d, long e, long f, long g,
                          long h, visit_fn *visit) {
    long x = sink + a, y = sink + b, z = sink + c;
    visit();
    return x + y + z + a * b - c * d + e * f - g * h + sink;
}

NOINLINE static long variable(visit_fn *visit, int count, ...) {
    va_list list;
    long sum = 0;
    va_start(list, count);
    while (count--) {
        sum += va_arg(list, int);
        visit();
    }
    va_end(list);
    return sum;
}

long arguments(visit_fn *visit) {
    return many(1, 2, 3, 4, 5, 6, 7, 8, visit) + variable(visit, 3, 1, 2, 3);
}

/* Early exits: some paths save registers and some do not. */
NOINLINE static long shrink_wrapped(int which, visit_fn *visit) {
    if (which == 0)
        return sink;
    if (which == 1) {
        visit();
        return sink + 1;
    }
    long sum = 0;
    for (int i = 0; i < which; i++) {
        visit();
        sum += i * sink;
    }
    return sum;
}

long early_exits(visit_fn *visit) {
    long sum = 0;
    for (int which = 0; which < 4; which++)
        sum += shrink_wrapped(which, visit);
    return sum;
}

/* Vector code and calls through the procedure linkage table. */
long library_calls(visit_fn *visit) {
    char text[128];
    double values[16];
    for (int i = 0; i < 16; i++)
        values[i] = sin(i) * sqrt(i + 1.0);
    int length = snprintf(text, sizeof text, "%.17g %s %d", values[3], "text", 42);
    char *copy = malloc(length + 1);
    memcpy(copy, text, length + 1);
    visit();
    length += (int)strlen(copy);
    free(copy);
    return length;
}

/* A stack frame too large for a short rule. */
NOINLINE static long large_frame(visit_fn *visit) {
    volatile char room[600000];
    room[5] = 1;
    visit();
    return room[5];
}

long large_frames(visit_fn *visit) { return large_frame(visit) + 1; }

/* A function that finds its caller by rbx: what the C library's lazy binding
   does, in small. */
#ifdef __x86_64__
long by_rbx(visit_fn *visit);
__asm__(".text\n"
        ".globl by_rbx\n"
        ".type by_rbx, @function\n"
        "by_rbx:\n"
        ".cfi_startproc\n"
        "push %rbx\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".cfi_rel_offset rbx, 0\n"
        "mov %rsp, %rbx\n"
        ".cfi_def_cfa_register rbx\n"
        "and $-64, %rsp\n"
        "sub $128, %rsp\n"
        "call *%rdi\n"
        "mov %rbx, %rsp\n"
        ".cfi_def_cfa_register rsp\n"
        "pop %rbx\n"
        ".cfi_adjust_cfa_offset -8\n"
        ".cfi_restore rbx\n"
        "xor %eax, %eax\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size by_rbx, .-by_rbx\n");

/* Uses rbx for its own ends, so that it must be found where it was saved. */
NOINLINE static long rbx_twice(visit_fn *visit) {
    long kept = sink + 7;
    long sum = by_rbx(visit);
    return sum + by_rbx(visit) + kept;
}

long frames_by_rbx(visit_fn *visit) { return rbx_twice(visit) + 1; }
#else
long frames_by_rbx(visit_fn *visit) { visit(); return 1; }
#endif

long everything(visit_fn *visit) {
    return recursion(visit) + dynamic_frames(visit) + realigned_frames(visit) +
           realigned_dynamic_frames(visit) + sorting(visit) + no_return(visit) +
           arguments(visit) + early_exits(visit) + library_calls(visit) +
           large_frames(visit) + frames_by_rbx(visit);
}
