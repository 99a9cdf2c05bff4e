/* An indirect function whose resolver is interrupted. The loader calls resolvers before it
   lists the library among those that have call frame information. */

#include <signal.h>
#include <sys/syscall.h>

typedef void visit_fn(void);

/* The C library's own functions may not be called here: they may not be bound yet. */
static long call(long number, long first, long second, long third) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}

static long visit(visit_fn *callback) {
    callback();
    return 0;
}

static long (*resolve(void))(visit_fn *) {
    call(SYS_tgkill, call(SYS_getpid, 0, 0, 0), call(SYS_gettid, 0, 0, 0), SIGURG);
    return visit;
}

static long resolved(visit_fn *callback) __attribute__((ifunc("resolve")));

/* Filled while the library is loaded, by the resolver. */
long (*volatile pointer)(visit_fn *) = resolved;

long through_resolved(visit_fn *callback) { return pointer(callback); }
