/* Logs as fast as it can until it is killed. What it logs is told by
   samples/src/story.rs, so that a reader of the log can check every byte.

       victim LOG COUNTS THREADS SEED

   COUNTS is a file of one 64-bit number per thread, at least THREADS of them.
   Each thread stores there how many of its calls have returned. */
#include <logdef.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_TEXT = 3000, MAX_THREADS = 64 };

static const char forged[] = "\xc1\xce\x04\xc6\xf4\xe6\xc1\xa2\x7f\x80";

static _Atomic uint64_t *returned;
static uint64_t seed;

static uint64_t mix(uint64_t n)
{
    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
    n = (n ^ n >> 27) * 0x94d049bb133111ebu;
    return n ^ n >> 31;
}

static void tell(char *text, uint64_t thread, uint64_t count)
{
    uint64_t dice = mix(seed ^ thread << 40 ^ count);
    size_t len = dice % 64 == 0 ? MAX_TEXT : (size_t)(dice >> 8) % 100;
    for (size_t at = 0; at < len; at++)
        text[at] = (char)('a' + (count + at) % 26);
    text[len] = 0;
    if ((dice >> 32 & 15) == 0 && len >= sizeof forged - 1)
        memcpy(text, forged, sizeof forged - 1);
}

static void *victim(void *argument)
{
    unsigned thread = (unsigned)(uintptr_t)argument;
    char text[MAX_TEXT + 1];
    for (unsigned count = 0;; count++) {
        tell(text, thread, count);
        if (count % 50 == 49)
            LOGDEF(ERROR, "record %u of thread %u: %s %.17g %lld", count, thread, text,
                   count * 0.5, -(long long)count);
        else
            LOGDEF(INFO, "record %u of thread %u: %s %.17g %lld", count, thread, text,
                   count * 0.5, -(long long)count);
        atomic_store_explicit(&returned[thread], count + 1, memory_order_release);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: victim LOG COUNTS THREADS SEED\n");
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
    if (logdef_open(argv[1]) != 0) {
        perror(argv[1]);
        return 1;
    }
    pthread_t thread = pthread_self();
    for (unsigned long i = 0; i < threads; i++)
        if (pthread_create(&thread, NULL, victim, (void *)(uintptr_t)i) != 0)
            return 1;
    pthread_join(thread, NULL);
    return 0;
}
