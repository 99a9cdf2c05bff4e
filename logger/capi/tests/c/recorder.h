/* The library's stand-in in tests of the header: keeps what it is called with. */
#ifndef RECORDER_H
#define RECORDER_H

#include <logdef.h>

struct recorded {
    const struct logdef_site *site; /* null: by logdef_emit_text */
    int level;
    const char *file;
    uint32_t line;
    const char *function;
    const char *format;
    int args;
    uint8_t kinds[LOGDEF_MAX_ARGS];
    uint64_t words[LOGDEF_MAX_ARGS + 1];
    long double long_doubles[LOGDEF_MAX_ARGS];
};

#ifdef __cplusplus
extern "C" {
#endif

/* The latest record, and how many there were. */
extern struct recorded recorded;
extern unsigned int recorded_count;
/* How often a site asked whether it is on. */
extern unsigned int recorded_questions;
/* Records of sites outside of this range are counted, while there is a range. */
extern const struct logdef_site *recorder_start, *recorder_stop;
extern unsigned int recorder_strays;
/* Changes the lowest level and makes every site ask again. */
void recorder_set_level(int level);

#ifdef __cplusplus
}
#endif

#endif
