/* Logs as fast as it can until it is killed, or dies of its own hand. What it
   logs is defined by samples/src/story.rs, so that a reader of the log can check
   every byte.

       victim LOG COUNTS THREADS SEED [rotate=BYTES] [append=1] [sites=1] [END=COUNT]

   COUNTS is a file of one 64-bit number per thread, at least THREADS of them.
   Each thread stores there how many of its calls have returned. The log is mapped,
   or appended to. With sites=1 the calls are spread over many sites. END is what a
   thread does when COUNT have returned: abort, segv, exit, exec or eat all memory. */
#include <logdef.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_TEXT = 15000, MAX_THREADS = 64 };

static const char forged[] = "\xc1\xce\x04\xc6\xf4\xe6\xc1\xa2\x7f\x80";

static _Atomic uint64_t *returned;
static uint64_t seed;
static int many_sites;
static const char *end = "";
static uint64_t end_at = UINT64_MAX;

static uint64_t dice(uint64_t thread, uint64_t count)
{
    uint64_t n = seed ^ thread << 40 ^ count;
    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
    n = (n ^ n >> 27) * 0x94d049bb133111ebu;
    return n ^ n >> 31;
}

static void log_call(char *text, uint64_t thread, uint64_t count)
{
    uint64_t n = dice(thread, count);
    size_t len = n % 512 == 0 ? MAX_TEXT : n % 512 < 8 ? 3000 : (size_t)(n >> 16) % 100;
    for (size_t at = 0; at < len; at++)
        text[at] = (char)('a' + (count + at) % 26);
    text[len] = 0;
    if ((n >> 32 & 15) == 0 && len >= sizeof forged - 1)
        memcpy(text, forged, sizeof forged - 1);
}

/* One of 256 sites, each with a format of its own. */
static void at_site(unsigned site, unsigned count, unsigned thread, const char *text)
{
#define SITE(hi, lo)                                                                          \
    case 0x##hi##lo:                                                                          \
        LOGDEF(INFO, "record %u of thread %u: %s %.17g %lld at site " #hi #lo, count, thread, \
               text, count * 0.5, -(long long)count);                                         \
        break;
#define ROW(hi)                                                                               \
    SITE(hi, 0) SITE(hi, 1) SITE(hi, 2) SITE(hi, 3) SITE(hi, 4) SITE(hi, 5) SITE(hi, 6)       \
    SITE(hi, 7) SITE(hi, 8) SITE(hi, 9) SITE(hi, a) SITE(hi, b) SITE(hi, c) SITE(hi, d)       \
    SITE(hi, e) SITE(hi, f)
    switch (site) {
        ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)
        ROW(8) ROW(9) ROW(a) ROW(b) ROW(c) ROW(d) ROW(e) ROW(f)
    }
}

static void die(void)
{
    if (strcmp(end, "abort") == 0)
        abort();
    if (strcmp(end, "segv") == 0)
        *(volatile char *)64 = 1;
    if (strcmp(end, "exit") == 0)
        _exit(3);
    if (strcmp(end, "exec") == 0)
        execlp("true", "true", (char *)NULL);
    /* Not more than a machine can bear, should nothing hold it back. */
    for (int mib = 0; strcmp(end, "eat") == 0 && mib < 256; mib++)
        memset(malloc(1 << 20), 1, 1 << 20);
    fprintf(stderr, "%s is no end\n", end);
    exit(2);
}

static void *victim(void *argument)
{
    unsigned thread = (unsigned)(uintptr_t)argument;
    char text[MAX_TEXT + 1];
    for (unsigned count = 0;; count++) {
        uint64_t n = dice(thread, count);
        unsigned kind = n >> 40 & 3;
        log_call(text, thread, count);
        if (count % 50 == 49)
            LOGDEF(ERROR, "record %u of thread %u: %s %.17g %lld", count, thread, text,
                   count * 0.5, -(long long)count);
        else if (kind == 1)
            LOGDEF(INFO, "record %u of thread %u: %.*s|%c|%p", count, thread, (int)(count % 64),
                   text, (char)('a' + count % 26), (void *)((uintptr_t)count << 12));
        else if (kind == 2)
            LOGDEF(INFO, "record %u of thread %u: %#llx %5.1f %hhd%%", count, thread,
                   (unsigned long long)n, count / -8.0, (signed char)count);
        else if (many_sites)
            at_site((thread * 37 + count) % 256, count, thread, text);
        else
            LOGDEF(INFO, "record %u of thread %u: %s %.17g %lld", count, thread, text,
                   count * 0.5, -(long long)count);
        atomic_store_explicit(&returned[thread], count + 1, memory_order_release);
        if (count + 1 == end_at)
            die();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: victim LOG COUNTS THREADS SEED [WORD=NUMBER ...]\n");
        return 2;
    }
    unsigned long threads = strtoul(argv[3], NULL, 10);
    seed = strtoull(argv[4], NULL, 10);
    int counts = open(argv[2], O_RDWR);
    if (counts < 0 || threads == 0 || threads > MAX_THREADS) {
        perror(argv[2]);
        return 1;
    }
    void *map = mmap(NULL, threads * sizeof *returned, PROT_READ | PROT_WRITE, MAP_SHARED, counts, 0);
    if (map == MAP_FAILED) {
        perror(argv[2]);
        return 1;
    }
    returned = map;
    logdef_options options = LOGDEF_OPTIONS;
    options.sink = LOGDEF_SINK_MAPPED;
    for (int i = 5; i < argc; i++) {
        char *number = strchr(argv[i], '=');
        if (!number)
            return 2;
        *number++ = 0;
        if (strcmp(argv[i], "rotate") == 0)
            options.file_size = strtoull(number, NULL, 10);
        else if (strcmp(argv[i], "append") == 0)
            options.sink = LOGDEF_SINK_APPEND;
        else if (strcmp(argv[i], "sites") == 0)
            many_sites = 1;
        else
            end = argv[i], end_at = strtoull(number, NULL, 10);
    }
    if (logdef_open_with(argv[1], &options) != 0) {
        perror(argv[1]);
        return 1;
    }
    pthread_t thread = pthread_self();
    for (unsigned long i = 0; i < threads; i++)
        /* While another thread is in exec, none can be made. */
        while (pthread_create(&thread, NULL, victim, (void *)(uintptr_t)i) != 0)
            continue;
    pthread_join(thread, NULL);
    return 0;
}
