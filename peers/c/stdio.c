/* fprintf with the time in front; with -DFLUSH one write(2) a record. */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static FILE *file;

#ifdef FLUSH
#define DONE() fflush(file)
#else
#define DONE() (void)0
#endif

void peer_open(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/log", directory);
    file = fopen(path, "w");
    if (!file)
        abort();
}

void peer_flush(void)
{
    fflush(file);
}

static struct timespec now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time;
}

#define PRINT(FORMAT)                                                                   \
    do {                                                                                \
        struct timespec t = now();                                                      \
        fprintf(file, "%ld.%09ld INFO " FORMAT "\n", (long)t.tv_sec, t.tv_nsec, a, b, c); \
        DONE();                                                                         \
    } while (0)

WORKLOADS(PRINT("Logging int: %d, int: %d, double: %f"), PRINT("Logging int: %d, int: %d, string: %s"))
