/* Logs on standard output, which is a pipe or a socket whose reader is slow or gone. The last line on standard
 * error is how many calls were made and how many of them were dropped, and why if the reader is gone. */
#include <logdef.h>

#include "stories.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#define THREADS 4
#define OF_EACH 100

static logdef_status status = LOGDEF_STATUS;
static char text[60001];
static long calls;

/* argv[3]: 1 if the descriptor does not block. argv[4]: the bytes of a text. argv[5]: those that a socket holds
 * for its reader, or 0. */
static void begins(void)
{
    logdef_options options = LOGDEF_OPTIONS;
    int room = atoi(more[2]);

    memset(text, 'x', (size_t)atoi(more[1]));
    if (atoi(more[0]))
        MUST(fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_NONBLOCK) == 0);
    if (room > 0)
        MUST(setsockopt(1, SOL_SOCKET, SO_SNDBUF, &room, sizeof room) == 0);
    options.max_string = 60000;
    MUST(logdef_open_with(log_path, &options) == 0);
}

static unsigned long long dropped(void)
{
    MUST(logdef_state(&status) == 0);
    return (unsigned long long)status.dropped;
}

/* Logs until calls are dropped, since nothing is read yet, and says so: the reader begins. */
static void fills(void)
{
    do {
        MUST(calls < 100000);
        LOGDEF(INFO, "%ld %s", calls++, text);
    } while (dropped() == 0);
    MUST(dropped() == 1 && status.error == EAGAIN && status.unreported == 1);
    for (int i = 0; i < 10; i++)
        LOGDEF(INFO, "%ld %s", calls++, text);
    MUST(dropped() == 11 && status.unreported == 11);
    fprintf(stderr, "full\n");
}

/* Whether the log says what is missing. */
static int is_settled(void)
{
    int synced = logdef_sync() == 0;

    MUST(logdef_state(&status) == 0);
    return synced && status.error == 0 && status.unreported == 0;
}

/* Logs until a record is written, and the log says what is missing. */
static void ends(void)
{
    int tries = 6000;

    do {
        MUST(tries-- > 0);
        usleep(10000);
        LOGDEF(INFO, "%ld %s", calls++, "");
    } while (!is_settled());
    logdef_close();
    fprintf(stderr, "%ld %llu\n", calls, dropped());
}

/* A record is begun, whose rest is not read in time. */
static void is_late(void)
{
    begins();
    fills();
    ends();
}

static void *writes(void *number)
{
    long first = calls + (long)(intptr_t)number * OF_EACH;

    for (long i = 0; i < OF_EACH; i++)
        LOGDEF(INFO, "%ld %s", first + i, text);
    return NULL;
}

/* Four threads log more than the reader takes. */
static void floods(void)
{
    pthread_t threads[THREADS];

    begins();
    if (atoi(more[0]))
        fills();
    else
        fprintf(stderr, "full\n");
    for (long i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, writes, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    calls += THREADS * OF_EACH;
    ends();
}

/* Every second record is longer than what a socket sends at once. */
static void exceeds(void)
{
    begins();
    fprintf(stderr, "full\n");
    for (int i = 0; i < 10; i++) {
        LOGDEF(INFO, "%ld %s", calls++, text);
        MUST(dropped() == (unsigned long long)i + 1);
        LOGDEF(INFO, "%ld %s", calls++, "");
        MUST(dropped() == (unsigned long long)i + 1 && status.error == 0);
    }
    ends();
}

/* The reader is gone. */
static void is_alone(void)
{
    begins();
    for (int i = 0; i < 10; i++)
        LOGDEF(INFO, "%ld %s", calls++, text);
    MUST(dropped() == 10 && status.unreported == 10);
    fprintf(stderr, "%ld %llu %d\n", calls, dropped(), status.error);
}

int main(int argc, char **argv)
{
    static const struct story stories[] = {
        {"is_late", is_late}, {"floods", floods},     {"exceeds", exceeds},
        {"is_alone", is_alone}, {NULL, NULL},
    };

    return run_story(stories, argc, argv);
}
