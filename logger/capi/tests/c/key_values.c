/* Calls with key-values, compiled as C and as C++: key_values LOG. */
#include <errno.h>
#include <logdef.h>
#include <stdbool.h>

#ifdef __cplusplus
#include <string>

template <class Value>
static void in_template(const Value &value)
{
    LOGDEF_KV(INFO, "in a template", "value", value);
}

static void objects()
{
    const std::string text("a string with \0 in it", 21);

    LOGDEF_KV(INFO, ("%s|%.1f", text, 1.5), "text", text, "temporary", text + "!", "on", true);
    in_template(text);
    in_template(7);
    in_template("an array");
}
#endif

/* In C++11 and its like the compiler calls %m an extension. */
#pragma GCC diagnostic ignored "-Wformat"
static void with_errno(void)
{
    errno = ENOENT;
    LOGDEF_KV(WARN, ("%m after %*d s: %m", 3, 5), "host", "example.org");
}

int main(int argc, char **argv)
{
    static const unsigned char bytes[] = {0, 1, 'h', 'i', 0xff};
    const char *none = NULL;
    bool on = argc > 1;
    int evaluated = 0;

    if (argc < 2 || logdef_open(argv[1]) != 0)
        return 1;
    LOGDEF_KV(INFO, "accepted", "host", "example.org", "port", 8080, "on", on, "ms", 2.5, "float", 1.5f);
    LOGDEF_KV(0x31, ("alone"), "none", none);
    LOGDEF_KV(INFO, "bytes", "raw", LOGDEF_HEX(bytes, sizeof bytes), "pointer", (void *)0, "least",
              (long long)-1, "most", ~0ull, "short", (short)-2);
    LOGDEF_KV(INFO, ("%d", 0), "a", 1, "b", 2, "c", 3, "d", 4, "e", 5, "f", 6, "g", 7, "h", 8, "i", 9,
              "j", 10, "k", 11, "l", 12, "m", 13, "n", 14, "o", 15, "p", 16);
    with_errno();
    logdef_set_level(LOGDEF_WARN);
    LOGDEF_KV(INFO, "not written", "evaluated", evaluated++);
#ifdef __cplusplus
    logdef_set_level(LOGDEF_INFO);
    objects();
#endif
    return evaluated == 0 ? 0 : 2;
}
