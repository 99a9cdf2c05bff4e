/* What a peer in C or C++ has to offer: a directory to log to, runs of `count`
 * records numbered from `first`, and the wait until all of them are written. */
#ifndef PEER_H
#define PEER_H
#include <stdint.h>

#ifdef __cplusplus
#define EXPORT extern "C" __attribute__((visibility("default")))
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define STRING "a string of 24 character"

EXPORT void peer_open(const char *directory);
EXPORT void peer_doubles(uint64_t first, uint64_t count);
EXPORT void peer_strings(uint64_t first, uint64_t count);
EXPORT void peer_flush(void);

/* The two workloads, each call as LOG(format, int, int, third). */
#define WORKLOADS(INTS_AND_DOUBLE, INTS_AND_STRING)                \
    EXPORT void peer_doubles(uint64_t first, uint64_t count)       \
    {                                                              \
        for (uint64_t n = first; n < first + count; n++) {         \
            int a = (int)n, b = (int)n / 2;                        \
            double c = (double)n * 0.5;                            \
            INTS_AND_DOUBLE;                                       \
        }                                                          \
    }                                                              \
    EXPORT void peer_strings(uint64_t first, uint64_t count)       \
    {                                                              \
        for (uint64_t n = first; n < first + count; n++) {         \
            int a = (int)n, b = (int)n / 2;                        \
            const char *c = STRING;                                \
            INTS_AND_STRING;                                       \
        }                                                          \
    }
#endif
