/* A kernel that takes its time to read from a file at an offset, as the logger
   reads its control page. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the logger makes such calls by. */
long syscall(long number, ...)
{
    static long (*next)(long, ...);
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    if (!next)
        next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long result = next(number, arguments[0], arguments[1], arguments[2], arguments[3],
                       arguments[4], arguments[5]);
    if (number == SYS_pread64)
        usleep(50000);
    return result;
}
