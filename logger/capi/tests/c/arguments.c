/* Levels that are variables and bytes, compiled as C and as C++; in C++ also strings that
 * are objects: arguments LOG. */
#include <logdef.h>

#ifdef __cplusplus
#include <string>
#include <vector>
#if __cplusplus >= 201703L
#include <string_view>
#endif
#endif

static int evaluated;

static int level(void)
{
    evaluated++;
    return LOGDEF_WARN;
}

#ifdef __cplusplus
struct Constant {
    /* Without a definition: no call may need its address. */
    static const int number = 7;
};

template <class Text>
static void in_template(const Text &text)
{
    LOGDEF(INFO, "in a template: %s", text);
}

static void objects()
{
    const std::string text("a string with \0 in it", 21);
    const std::vector<char> range(3, 'v');

    LOGDEF(INFO, "number %d", Constant::number);
    LOGDEF(INFO, "%s|%.4s|%.*s", text, text, 1, range);
    LOGDEF(INFO, "%d %s %5.1f %ld %c %p %%", 1, std::string(), 1.5f, 5L, 'c', nullptr);
    LOGDEF(INFO, "temporary %s", text + "!");
    in_template(text);
    in_template("an array");
    in_template(range);
#if __cplusplus >= 201703L
    in_template(std::string_view(text).substr(2, 6));
    in_template(std::string_view());
#else
    in_template("string");
    in_template("");
#endif
    for (int i = 0; i < 3; i++)
        LOGDEF_ONCE(INFO, "once %s", range);
    {
        LOGDEF_SPAN(INFO, "span %s", range);
    }
    LOGDEF_AT(level(), "at %s", text);
    LOGDEF_WITH("text", text);
    LOGDEF(INFO, "in context");
}
#endif

int main(int argc, char **argv)
{
    static const unsigned char bytes[] = {0, 1, 'h', 'i', 0xff};
    volatile int off = LOGDEF_TRACE;

    if (argc < 2 || logdef_open(argv[1]) != 0)
        return 1;
    logdef_set_level(LOGDEF_DEBUG);
    LOGDEF_AT(level(), "level %d %s", 1, "text");
    LOGDEF_AT(off, "not written %d", evaluated++);
    LOGDEF_AT(off + 0x10, "no arguments");
    LOGDEF(off, "not written %d", evaluated++);
    LOGDEF(level(), "of a variable %d", 2);
    LOGDEF_KV(off + 0x20, "with keys", "key", 3);
    LOGDEF_ONCE(off + 0x20, "once %d", 4);
    LOGDEF(INFO, "%s: %p", "bytes", LOGDEF_HEX(bytes, sizeof bytes));
    LOGDEF(INFO, "%p", LOGDEF_HEX(NULL, 0));
#ifdef __cplusplus
    objects();
    evaluated--;
#endif
    return evaluated == 2 ? 0 : 2;
}
