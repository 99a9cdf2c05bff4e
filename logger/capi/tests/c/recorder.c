#include "recorder.h"

#include <string.h>

struct recorded recorded;
unsigned int recorded_count;
unsigned int recorded_questions;
const struct logdef_site *recorder_start, *recorder_stop;
unsigned int recorder_strays;

static uint32_t gate = 2;
static int lowest = 0;

void recorder_set_level(int level)
{
    lowest = level;
    gate += 2;
}

static void keep(const uint8_t *kinds, const uint64_t *words, int args, int more)
{
    int i;

    memset(recorded.kinds, 0, sizeof recorded.kinds);
    memset(recorded.words, 0, sizeof recorded.words);
    if (args > 0)
        memcpy(recorded.kinds, kinds, (size_t)args);
    memcpy(recorded.words, words, (size_t)(args + more) * sizeof *words);
    for (i = 0; i < args; i++)
        if (kinds[i] == LOGDEF_KIND_LONG_DOUBLE)
            memcpy(&recorded.long_doubles[i], (const void *)(uintptr_t)words[i],
                   sizeof(long double));
    recorded.args = args;
    recorded_count++;
}

int logdef_ask(const struct logdef_site *site)
{
    recorded_questions++;
    site->state->image->gate = &gate;
    site->state->gate = gate + (site->level >= lowest ? 1 : 0);
    return site->level >= lowest;
}

int logdef_ask_at(const struct logdef_site *site, int level)
{
    (void)site;
    return level >= lowest;
}

void logdef_emit_at(const struct logdef_site *site, int level, const uint64_t *words)
{
    recorded.site = site;
    recorded.level = level;
    recorded.file = site->file;
    recorded.line = site->line;
    recorded.function = site->function;
    recorded.format = site->format;
    keep(site->kinds, words, site->args, (site->flags & LOGDEF_SITE_LIMITED) != 0);
    if (recorder_start != NULL && (site < recorder_start || site >= recorder_stop))
        recorder_strays++;
}

void logdef_emit(const struct logdef_site *site, const uint64_t *words)
{
    logdef_emit_at(site, site->level, words);
}

void logdef_emit_text(int level, const char *file, uint32_t line, const char *function,
                      const char *format, const uint8_t *kinds, const uint64_t *words, int n)
{
    recorded.site = NULL;
    recorded.level = level;
    recorded.file = file;
    recorded.line = line;
    recorded.function = function;
    recorded.format = format;
    keep(kinds, words, n, 0);
}

/* Types stand in the format itself: one byte each behind a '!'. */
int logdef_kinds(const char *format, uint8_t *types, int max)
{
    const char *at = strchr(format, '!');
    int n = at == NULL ? 0 : (int)strlen(at + 1);

    if (n > max)
        return -1;
    if (at != NULL)
        memcpy(types, at + 1, (size_t)n);
    return n;
}

int logdef_enabled_now(int level)
{
    return logdef_enabled(level);
}

int logdef_enabled(int level)
{
    return level >= lowest;
}

int64_t logdef_at_most_every(struct logdef_limit *limit, uint64_t ms)
{
    limit->due += ms;
    return limit->count++ % 2 == 0 ? (int64_t)limit->count : -1;
}
