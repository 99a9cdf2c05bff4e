/* Handlers that jump out of calls: jumped LOG SINK. Says what was dropped, the bytes of the largest file, and
 * how many descriptors there are. */
#include <logdef.h>

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define JUMPS 200
#define AFTER 2000

static sigjmp_buf outside;
static volatile sig_atomic_t in_call, jumps;
static volatile unsigned long largest;

static void jump(int signal)
{
    (void)signal;
    if (in_call) {
        in_call = 0;
        jumps++;
        siglongjmp(outside, 1);
    }
}

static void look(void)
{
    logdef_status status = LOGDEF_STATUS;
    if (logdef_state(&status) == 0 && status.file_bytes > largest)
        largest = status.file_bytes;
}

static void every(long microseconds)
{
    struct itimerval timer;
    memset(&timer, 0, sizeof timer);
    timer.it_interval.tv_usec = microseconds;
    timer.it_value.tv_usec = microseconds;
    setitimer(ITIMER_REAL, &timer, NULL);
}

static int descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;
    if (directory == NULL)
        return -1;
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

int main(int argc, char **argv)
{
    logdef_options options = LOGDEF_OPTIONS;
    logdef_status status = LOGDEF_STATUS;
    static char text[200];
    int number;

    (void)argc;
    memset(text, 'x', sizeof text - 1);
    options.sink = atoi(argv[2]);
    options.file_size = 100000;
    options.files = 4;
    if (logdef_open_with(argv[1], &options) != 0)
        return 1;
    signal(SIGALRM, jump);
    every(1000);
    (void)sigsetjmp(outside, 1);
    while (jumps < JUMPS) {
        in_call = 1;
        LOGDEF(INFO, "%d %s", (int)jumps, text);
        in_call = 0;
        look();
    }
    every(0);
    for (number = 0; number < AFTER; number++) {
        LOGDEF(INFO, "after %d %s", number, text);
        look();
    }
    logdef_state(&status);
    printf("%llu %d %lu %d\n", (unsigned long long)status.dropped, status.error, largest, descriptors());
    return 0;
}
