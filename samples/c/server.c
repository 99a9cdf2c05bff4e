/* A small server: worker threads take requests, answer them, and log. There is
   no network in it; requests are numbers.

       server LOG [PAUSE_US [REQUESTS]]

   It serves until it is killed, or until REQUESTS requests have been served. */
#define _GNU_SOURCE
#include "compress.h"

#include <logdef.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 4 };

static const char *const paths[] = {"/", "/index.html", "/stats", "/etc/passwd", "/logo.png"};

struct request {
    unsigned long number;
    const char *path;
    unsigned client;
};

static atomic_ulong next_number;
static unsigned long last_number = -1ul;
static unsigned pause_us = 1000;

static double milliseconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) * 1e3 + (double)(now.tv_nsec - start->tv_nsec) / 1e6;
}

static int open_file(const struct request *request)
{
    if (strncmp(request->path, "/etc/", 5) == 0) {
        errno = EACCES;
        /* ERROR and worse carry a backtrace. */
        LOGDEF(ERROR, "client %u may not read %s: %m", request->client, request->path);
        return -1;
    }
    return 0;
}

static size_t answer(const struct request *request)
{
    char page[2048], packed[1024];
    if (open_file(request) != 0)
        return 0;
    size_t size = sizeof page - (request->number * 37) % 1500;
    for (size_t i = 0; i < size; i++)
        page[i] = (char)('a' + i / (8 + request->number % 50) % 26);
    return compress(page, size, packed, sizeof packed);
}

static void serve(const struct request *request)
{
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    size_t sent = answer(request);
    usleep(pause_us);
    double took = milliseconds_since(&start);
    if (sent == 0)
        LOGDEF(WARN, "request %lu for %s failed after %.3f ms", request->number, request->path, took);
    else
        LOGDEF(INFO, "request %lu: %s, %zu bytes to client %u in %.3f ms", request->number,
               request->path, sent, request->client, took);
}

static void *worker(void *argument)
{
    char name[16];
    snprintf(name, sizeof name, "worker-%d", *(int *)argument);
    pthread_setname_np(pthread_self(), name);
    LOGDEF(INFO, "%s is ready", name);
    for (;;) {
        unsigned long number = atomic_fetch_add(&next_number, 1);
        if (number >= last_number)
            return NULL;
        struct request request = {
            .number = number,
            .path = paths[number * 7 % 5],
            .client = (unsigned)(number % 90) + 10,
        };
        serve(&request);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: server LOG [PAUSE_US [REQUESTS]]\n");
        return 2;
    }
    if (argc > 2)
        pause_us = (unsigned)strtoul(argv[2], NULL, 10);
    if (argc > 3)
        last_number = strtoul(argv[3], NULL, 10);

    if (logdef_open(argv[1]) != 0) {
        perror(argv[1]);
        return 1;
    }
    logdef_set_level(LOGDEF_DEBUG);
    LOGDEF(INFO, "serving with %d workers, pid %d", WORKERS, (int)getpid());

    pthread_t threads[WORKERS];
    int numbers[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, worker, &numbers[i]) != 0) {
            LOGDEF(FATAL, "no thread for worker %d: %m", i);
            return 1;
        }
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    LOGDEF(INFO, "served %lu requests", last_number);
    logdef_close();
    return 0;
}
