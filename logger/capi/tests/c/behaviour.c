/* What log calls do, in C and in C++ alike: this file is compiled as both. */
#define LOGDEF_MIN_LEVEL DEBUG
#include "recorder.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            failures++;                                                          \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);               \
        }                                                                        \
    } while (0)

#define KINDS(...)                                                               \
    do {                                                                         \
        static const uint8_t expected[] = {__VA_ARGS__};                         \
        CHECK(recorded.args == (int)sizeof expected);                            \
        CHECK(memcmp(recorded.kinds, expected, sizeof expected) == 0);           \
    } while (0)

static double as_double(uint64_t word)
{
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static const char *as_text(uint64_t word)
{
    return (const char *)(uintptr_t)word;
}

static void a_record_names_its_site(void)
{
    const struct logdef_site *site;

    LOGDEF(WARN, "format %d", 42); const uint32_t line = __LINE__;
    site = recorded.site;
    CHECK(strcmp(site->format, "format %d") == 0);
    CHECK(strstr(site->file, "behaviour.c") != NULL);
    CHECK(strcmp(site->function, __func__) == 0);
    CHECK(site->module == NULL);
    CHECK(site->plan == NULL);
    CHECK(site->line == line);
    CHECK(site->level == 0x40);
    CHECK(site->args == 1);
    CHECK(site->version == 1);
    CHECK(site->flags == 0);
    CHECK(site->state->image == &logdef_image);
    LOGDEF_BT(WARN, "backtrace");
    CHECK(recorded.site->flags == LOGDEF_SITE_BACKTRACE);
    CHECK(recorded.site->args == 0);
#undef LOGDEF_MODULE
#define LOGDEF_MODULE "module"
    LOGDEF(INFO, "in a module");
    CHECK(strcmp(recorded.site->module, "module") == 0);
#undef LOGDEF_MODULE
#define LOGDEF_MODULE NULL
}

static void levels_are_names_or_numbers(void)
{
#define INFO 1
    LOGDEF(INFO, "a name wins over a macro");
    CHECK(recorded.level == 0x30);
#undef INFO
    LOGDEF(0xff, "a number");
    CHECK(recorded.level == 0xff);
    LOGDEF(LOGDEF_ERROR, "a macro");
    CHECK(recorded.level == 0x50);
}

static void integers_are_extended_by_their_sign(void)
{
    signed char minus = -1;
    unsigned char full = 255;
    unsigned short wide = 65535;

    LOGDEF(INFO, "%d %d %d %d", minus, full, (short)-2, wide);
    KINDS(1, 1, 1, 1);
    CHECK((int64_t)recorded.words[0] == -1);
    CHECK(recorded.words[1] == 255);
    CHECK((int64_t)recorded.words[2] == -2);
    CHECK(recorded.words[3] == 65535);
    LOGDEF(INFO, "%d %u %ld %lu %lld %llu", INT_MIN, UINT_MAX, LONG_MIN, ULONG_MAX, LLONG_MIN,
           ULLONG_MAX);
    KINDS(1, 2, 1, 2, 1, 2);
    CHECK((int64_t)recorded.words[0] == INT_MIN);
    CHECK(recorded.words[1] == UINT_MAX);
    CHECK((int64_t)recorded.words[2] == LONG_MIN);
    CHECK(recorded.words[3] == ULONG_MAX);
    CHECK((int64_t)recorded.words[4] == LLONG_MIN);
    CHECK(recorded.words[5] == ULLONG_MAX);
    LOGDEF(INFO, "%c", 'x');
    KINDS(1);
    CHECK(recorded.words[0] == 'x');
}

static void floating_point_keeps_its_bits(void)
{
    float single = 0.1f;

    LOGDEF(INFO, "%g %g %g", -0.0, DBL_MIN / 4, (double)single);
    KINDS(3, 3, 3);
    CHECK(recorded.words[0] == 1ULL << 63);
    CHECK(as_double(recorded.words[1]) == DBL_MIN / 4);
    CHECK(as_double(recorded.words[2]) == (double)single);
    LOGDEF(INFO, "%Lg %d %Lg", LDBL_MAX, 7, -1.5L);
    KINDS(4, 1, 4);
    CHECK(recorded.long_doubles[0] == LDBL_MAX);
    CHECK(recorded.words[1] == 7);
    CHECK(recorded.long_doubles[2] == -1.5L);
}

static void strings_and_pointers_are_told_apart(void)
{
    char array[] = "array";
    const char *text = "text";
    const unsigned char bytes[] = "bytes";
    void *pointer = array;

    LOGDEF(INFO, "%s %s %s %p", array, text, (const char *)bytes, pointer);
    KINDS(5, 5, 5, 7);
    CHECK(as_text(recorded.words[0]) == array);
    CHECK(strcmp(as_text(recorded.words[1]), "text") == 0);
    CHECK(strcmp(as_text(recorded.words[2]), "bytes") == 0);
    CHECK(recorded.words[3] == (uint64_t)(uintptr_t)array);
    LOGDEF(INFO, "%ls %.*s", L"wide", 2, "literal");
    KINDS(6, 1, 5);
    CHECK(*(const wchar_t *)(uintptr_t)recorded.words[0] == L'w');
    LOGDEF(INFO, "%p", (void *)NULL);
    KINDS(7);
    CHECK(recorded.words[0] == 0);
}

static int evaluate(int *counter)
{
    return ++*counter;
}

static void arguments_are_evaluated_once_or_not_at_all(void)
{
    int a = 0, b = 10, i;

    LOGDEF(INFO, "%d %d %d", evaluate(&a), b++, a == 1 ? 5 : 6);
    CHECK(a == 1 && b == 11);
    CHECK(recorded.words[0] == 1 && recorded.words[1] == 10);
    recorder_set_level(LOGDEF_WARN);
    recorded_count = recorded_questions = 0;
    for (i = 0; i < 5; i++) {
        LOGDEF(INFO, "%d", evaluate(&a));
        LOGDEF(WARN, "%d", b++);
    }
    CHECK(a == 1 && b == 16);
    CHECK(recorded_count == 5 && recorded_questions == 2);
    recorder_set_level(0);
    LOGDEF(TRACE, "%d", evaluate(&a));
    LOGDEF_EVERY_N(evaluate(&b), TRACE, "%d", evaluate(&a));
    CHECK(a == 1 && b == 16);
}

static void statements_nest_like_statements(void)
{
    int i = 3;

    recorded_count = 0;
    if (i == 3)
        LOGDEF(INFO, "then");
    else
        LOGDEF(INFO, "else");
    CHECK(recorded_count == 1 && strcmp(recorded.format, "then") == 0);
    LOGDEF(INFO, "%d", 1); LOGDEF(INFO, "%d", 2); LOGDEF(INFO, "%d", 3);
    CHECK(recorded_count == 4 && recorded.words[0] == 3);
}

static void limits_tell_what_they_skipped(void)
{
    int i, evaluated = 0;

    recorded_count = 0;
    for (i = 0; i < 10; i++)
        LOGDEF_ONCE(INFO, "once %d", evaluate(&evaluated));
    CHECK(recorded_count == 1 && evaluated == 1);
    CHECK(recorded.site->flags == LOGDEF_SITE_LIMITED);
    CHECK(recorded.words[1] == 0);

    recorded_count = 0;
    for (i = 0; i < 10; i++)
        LOGDEF_FIRST_N(3, INFO, "first %d", i);
    CHECK(recorded_count == 3 && recorded.words[0] == 2);

    recorded_count = 0;
    for (i = 0; i < 10; i++) {
        LOGDEF_EVERY_N(4, INFO, "every %d of %s", i, "ten");
        CHECK(recorded.words[2] == (i < 4 ? 0 : 3));
    }
    CHECK(recorded_count == 3 && recorded.words[0] == 8 && recorded.args == 2);

    recorded_count = 0;
    for (i = 0; i < 4; i++)
        LOGDEF_EVERY_N(i - i, INFO, "every call");
    CHECK(recorded_count == 4 && recorded.args == 0 && recorded.words[0] == 0);

    recorded_count = 0;
    for (i = 0; i < 4; i++)
        LOGDEF_AT_MOST_EVERY(100, INFO, "seldom");
    CHECK(recorded_count == 2 && recorded.words[0] == 3);

    recorder_set_level(LOGDEF_WARN);
    recorded_count = 0;
    for (i = 0; i < 10; i++) {
        if (i == 5)
            recorder_set_level(0);
        LOGDEF_EVERY_N(2, INFO, "held back calls do not count %d", i);
    }
    CHECK(recorded_count == 3 && recorded.words[0] == 9);
}

__attribute__((__format__(__printf__, 2, 3))) static void through(int level, const char *format,
                                                                  ...)
{
    va_list args;

    va_start(args, format);
    logdef_vlog(level, format, args);
    va_end(args);
}

static void wrappers_pass_every_type(void)
{
    /* The recorder takes the types from behind the '!', one byte each. */
    through(LOGDEF_INFO, "%d%u%ld%lu!\1\2\3\4", -1, 2u, -3L, 4UL);
    KINDS(1, 2, 1, 2);
    CHECK((int64_t)recorded.words[0] == -1 && (int64_t)recorded.words[2] == -3);
    CHECK(recorded.words[1] == 2 && recorded.words[3] == 4);
    CHECK(recorded.level == LOGDEF_INFO && strcmp(recorded.function, "through") == 0);
    through(LOGDEF_INFO, "%lld%llu%jd%ju!\5\6\7\10", -1LL, 2ULL, (intmax_t)-3, (uintmax_t)4);
    KINDS(1, 2, 1, 2);
    CHECK((int64_t)recorded.words[0] == -1 && (int64_t)recorded.words[2] == -3);
    through(LOGDEF_INFO, "%zd%zu%td%tu!\11\12\13\14", (ptrdiff_t)-1, (size_t)2, (ptrdiff_t)-3,
            (size_t)4);
    KINDS(1, 2, 1, 2);
    CHECK((int64_t)recorded.words[2] == -3 && recorded.words[3] == 4);
    through(LOGDEF_INFO, "%d%u%ld%lu!\15\16\17\20", INT32_MIN, UINT32_MAX, INT64_MIN, UINT64_MAX);
    KINDS(1, 2, 1, 2);
    CHECK((int64_t)recorded.words[0] == INT32_MIN && recorded.words[1] == UINT32_MAX);
    CHECK((int64_t)recorded.words[2] == INT64_MIN && recorded.words[3] == UINT64_MAX);
    through(LOGDEF_INFO, "%ld%lu%ld%lu%ld%lu!\21\22\23\24\25\26", -1L, 2UL, -3L, 4UL, -5L, 6UL);
    KINDS(1, 2, 1, 2, 1, 2);
    CHECK((int64_t)recorded.words[4] == -5 && recorded.words[5] == 6);
    through(LOGDEF_INFO, "%lc%f%Lf%s%ls%p%d!\27\30\31\32\33\34\1", (wint_t)L'w', 0.5, -0.25L,
            "text", L"wide", (void *)&failures, 9);
    KINDS(2, 3, 4, 5, 6, 7, 1);
    CHECK(recorded.words[0] == 'w' && as_double(recorded.words[1]) == 0.5);
    CHECK(recorded.long_doubles[2] == -0.25L);
    CHECK(strcmp(as_text(recorded.words[3]), "text") == 0);
    CHECK(*(const wchar_t *)(uintptr_t)recorded.words[4] == L'w');
    CHECK(recorded.words[5] == (uint64_t)(uintptr_t)&failures && recorded.words[6] == 9);

    logdef_log(LOGDEF_WARN, "%d!\1", 5); const uint32_t line = __LINE__;
    KINDS(1);
    CHECK(recorded.line == line && strcmp(recorded.function, __func__) == 0);
    CHECK(recorded.level == LOGDEF_WARN);
    recorded_count = 0;
    recorder_set_level(LOGDEF_ERROR);
    logdef_log(LOGDEF_WARN, "held back");
    CHECK(recorded_count == 0);
    recorder_set_level(0);
}

int main(void)
{
    a_record_names_its_site();
    levels_are_names_or_numbers();
    integers_are_extended_by_their_sign();
    floating_point_keeps_its_bits();
    strings_and_pointers_are_told_apart();
    arguments_are_evaluated_once_or_not_at_all();
    statements_nest_like_statements();
    limits_tell_what_they_skipped();
    wrappers_pass_every_type();
    return failures != 0;
}
