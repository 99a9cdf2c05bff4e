/* A program whose wall clock is set while it logs: it is asked for the time in
 * place of the C library. */
#define _GNU_SOURCE
#include <logdef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic long ahead;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int result = (int)syscall(SYS_clock_gettime, clock, time);

    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        time->tv_sec += ahead;
    return result;
}

int main(int argc, char **argv)
{
    logdef_options options = LOGDEF_OPTIONS;
    int i;

    if (argc != 3)
        return 2;
    options.clock = atoi(argv[2]);
    if (logdef_open_with(argv[1], &options) != 0)
        return 3;
    for (i = 0; i < 30; i++) {
        if (i == 10)
            ahead = 3600;
        if (i == 20)
            ahead = -3600;
        LOGDEF(INFO, "call %d", i);
        usleep(2000);
    }
    /* Without the counter, a clock that was set is noticed with the next chunk. */
    for (i = 0; i < 5000; i++)
        LOGDEF(INFO, "call %d", 30);
    return 0;
}
