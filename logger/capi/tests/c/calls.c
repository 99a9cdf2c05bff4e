/* Log calls as a C program may write them; compiled with every warning that the
 * header promises to be clean under. */
#include <logdef.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "calls.h"

#define DEBUG 1 /* as many programs have it */
#define WIRE_LEVEL 0x35

enum colour { RED, GREEN };
enum below { BELOW = -1 };

struct fields {
    unsigned int narrow : 3;
    int negative : 5;
    bool flag : 1;
};

static int evaluations;

static int evaluate(int value)
{
    evaluations++;
    return value;
}

void c_levels(void)
{
    LOGDEF(TRACE, "trace");
    LOGDEF(DEBUG, "debug");
    LOGDEF(INFO, "info");
    LOGDEF(WARN, "warn");
    LOGDEF(ERROR, "error");
    LOGDEF(FATAL, "fatal");
    LOGDEF(0x31, "number");
    LOGDEF(WIRE_LEVEL, "constant");
    LOGDEF(LOGDEF_WARN, "named");
    LOGDEF_BT(INFO, "backtrace of %d", 1);
}

void c_types(const struct Incomplete *incomplete, char *text, const char *words[2])
{
    struct fields fields = {5, -3, true};
    const volatile long lasting = -4;
    enum colour colour = GREEN;
    enum below below = BELOW;
    float single = 0.5f;
    const wchar_t *wide = L"wide";
    char array[] = "array";
    int counted;

    LOGDEF(INFO, "%d %i %u %x %X %o", -1, 2, 3u, 4u, 5u, 6u);
    LOGDEF(INFO, "%hhd %hd %ld %lld %jd %zd %td", (signed char)-1, (short)-2, -3L, -4LL,
           (intmax_t)-5, (ptrdiff_t)-6, (ptrdiff_t)-7);
    LOGDEF(INFO, "%hhu %hu %lu %llu %ju %zu", (unsigned char)1, (unsigned short)2, 3UL, 4ULL,
           (uintmax_t)5, sizeof(int));
    LOGDEF(INFO, "%" PRId64 " %" PRIu32 " %" PRIx8, INT64_MIN, UINT32_MAX, UINT8_MAX);
    LOGDEF(INFO, "%f %e %g %a %.*f", 1.5, 2.5, (double)single, -0.0, 3, 0.1);
    LOGDEF(INFO, "%Lf %Lg", 1.25L, -2.5L);
    LOGDEF(INFO, "%c %lc", 'x', (wint_t)L'y');
    LOGDEF(INFO, "%s %s %.*s %s", text, words[0], 3, words[1], array);
    LOGDEF(INFO, "%ls %ls", wide, L"literal");
    LOGDEF(INFO, "%p %p %p %p", (const void *)incomplete, NULL, (void *)text, (void *)&text);
    LOGDEF(INFO, "%u %d %d", fields.narrow, fields.negative, fields.flag);
    LOGDEF(INFO, "%ld %u %d %d", lasting, colour, below, true);
    LOGDEF(INFO, "%d%n", 1, &counted);
    LOGDEF(INFO, "%*d|%-*d|%%", 5, 1, -6, 2);
#ifdef BEYOND_ISO /* which -Wpedantic says */
    LOGDEF(INFO, "%m");
    LOGDEF(INFO, "%2$s %1$d", 1, "second");
#endif
}

void c_counts(void)
{
    LOGDEF(INFO, "none");
    LOGDEF(INFO, "%d", 0);
    LOGDEF(INFO, "%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
           14, 15);
    LOGDEF(INFO,
           "%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d"
           "%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d",
           0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
           25, 26, 27, 28, 29, 30, 31);
}

void c_limits(int i)
{
    LOGDEF_ONCE(INFO, "once");
    LOGDEF_FIRST_N(3, WARN, "first %d", i);
    LOGDEF_EVERY_N(4, DEBUG, "every %d", i);
    LOGDEF_EVERY_N(i, INFO, "every so many");
    LOGDEF_AT_MOST_EVERY(100, INFO, "seldom %s %d", "text", i);
}

static inline int in_inline(int i)
{
    LOGDEF(INFO, "inline %d", i);
    return i;
}

int c_places(int i)
{
    int n = 0;

    if (i > 0)
        LOGDEF(INFO, "then %d", evaluate(i));
    else
        LOGDEF(INFO, "else %d", evaluate(-i));
    for (; n < 2; n++)
        LOGDEF(INFO, "loop %d", n);
    switch (i) {
    case 1:
        LOGDEF(INFO, "case %d", i);
        break;
    default:
        LOGDEF(INFO, "default %d", i++);
    }
    LOGDEF(INFO, "one"); LOGDEF(INFO, "line"); LOGDEF(INFO, "three %d calls", i);
    LOGDEF(INFO, "%d", (i = 7));
    LOGDEF(INFO, "%d %d", in_inline(i), (int){3});
    return evaluations;
}

__attribute__((__format__(__printf__, 2, 0))) static void wrapper_v(int level, const char *format,
                                                                    va_list args)
{
    logdef_vlog(level, format, args);
}

__attribute__((__format__(__printf__, 2, 3))) static void wrapper(int level, const char *format,
                                                                  ...)
{
    va_list args;

    va_start(args, format);
    wrapper_v(level, format, args);
    va_end(args);
}

void c_never_called(int i)
{
    LOGDEF(FATAL, "never reached %d", i);
}

void c_wrapped(int i)
{
    logdef_log(LOGDEF_INFO, "log %d %s", i, "text");
    wrapper(LOGDEF_INFO, "vlog %hhd %lu %Lf %s", (signed char)i, 7UL, 1.5L, "text");
    if (logdef_enabled(LOGDEF_DEBUG))
        LOGDEF(DEBUG, "%d", errno);
}
