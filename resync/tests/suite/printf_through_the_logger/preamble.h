/* The front of the generated programs in C and C++. */
#include <logdef.h>

#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <wchar.h>

#define CHECK(condition_)                                     \
    do {                                                      \
        if (!(condition_)) {                                  \
            fprintf(stderr, "%d: %s\n", __LINE__, #condition_); \
            exit(1);                                          \
        }                                                     \
    } while (0)

static FILE *texts;
static int written;

/* What printf makes of it: its length and its bytes. */
static void print(const char *format, ...)
{
    static char text[1 << 16];
    va_list args;
    int length;

    va_start(args, format);
    errno = ENOENT;
    length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    CHECK(length >= 0 && (size_t)length < sizeof text);
    CHECK(fwrite(&length, sizeof length, 1, texts) == 1);
    CHECK(fwrite(text, 1, (size_t)length, texts) == (size_t)length);
}

/* Prints and logs, as a call and through a va_list. Only printf may write for %n,
 * and errno stays as it was. */
#define CASE(format_, c_format_, ...)                             \
    do {                                                          \
        print(c_format_, ##__VA_ARGS__);                          \
        written = -1;                                             \
        errno = ENOENT;                                           \
        LOGDEF(INFO, format_, ##__VA_ARGS__);                     \
        CHECK(errno == ENOENT);                                   \
        logdef_log(LOGDEF_INFO, format_, ##__VA_ARGS__);          \
        CHECK(errno == ENOENT && written == -1);                  \
    } while (0)

#define EACH(table_, ...)                                              \
    for (size_t i = 0; i < sizeof table_ / sizeof *table_; i++) {      \
        __typeof__(*table_) v = table_[i];                             \
        CASE(__VA_ARGS__);                                             \
    }

static double of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static long double x87(uint64_t mantissa, uint16_t head)
{
    long double value = 0;
    memcpy(&value, &mantissa, sizeof mantissa);
    memcpy((char *)&value + sizeof mantissa, &head, sizeof head);
    return value;
}

/* The bytes at the end of a page, behind which none may be read. */
static const char *guarded(const char *bytes, size_t length)
{
    const size_t page = 4096;
    int before = errno;
    char *pages = (char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    errno = before;
    return (const char *)memcpy(pages + page - length, bytes, length);
}

static const char *long_text(void)
{
    static char text[20001];
    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = (char)('a' + i % 26);
    return text;
}

static void open_files(int argc, char **argv)
{
    logdef_options options = LOGDEF_OPTIONS;
    options.max_string = BOUND;
    CHECK(argc == 3 && setlocale(LC_CTYPE, "C.UTF-8"));
    texts = fopen(argv[2], "w");
    CHECK(texts != NULL && logdef_open_with(argv[1], &options) == 0);
}
