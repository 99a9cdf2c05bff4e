/* Calls of the formats of std::format: formats LOG. */
#include <logdef_format.h>

#include <string>
#include <string_view>
#include <vector>

template <class Value>
static void in_template(const Value &value)
{
    LOGDEF_F(INFO, "in a template: {}", value);
}

inline void in_inline(int value)
{
    LOGDEF_F(INFO, "inline {}", value);
}

struct Fields {
    unsigned bits : 3;
};

int main(int argc, char **argv)
{
    const std::string host("example.org");
    const std::vector<char> range(3, 'v');
    const char *none = nullptr;
    char buffer[8] = "buffer";
    const Fields fields = {5};
    volatile int port = 443;
    int evaluated = 0;
    __extension__ __int128 wide = -1;
    __extension__ unsigned __int128 unsigned_wide = 1;

    if (argc < 2 || logdef_open(argv[1]) != 0)
        return 1;
    wide *= 5;
    unsigned_wide <<= 100;
    LOGDEF_F(INFO, "no arguments {{}} 100%");
    LOGDEF_F(INFO, "accepted {}:{} in {:.3f} ms", host, port, 2.5);
    LOGDEF_F(0x31, "{host} {1:>8}", logdef::arg<"host">(host), port, logdef::arg<"code">(200));
    LOGDEF_F(INFO, "accepted", logdef::arg<"host">("example.org"));
    LOGDEF_F(WARN, "{} {} {} {}", true, 'c', '\0', static_cast<signed char>(-1));
    LOGDEF_F(INFO, "{} {:.1} {:e} {:{}}", 1.5f, 1.5f, 1.5f, 1.5f, 5);
    LOGDEF_F(INFO, "{} {:>20} {:p} {}", static_cast<void *>(nullptr), nullptr, nullptr, none);
    LOGDEF_F(INFO, "{} {} {} {}", buffer, range, std::string_view(host).substr(8), host + "!");
    LOGDEF_F(INFO, "{} {}", wide, unsigned_wide);
    LOGDEF_F(INFO, "{} {} {}", ~0ull, -1ll, fields.bits);
    LOGDEF_F(INFO, "{}", logdef::hex("h\0i", 3));
    in_template(1);
    in_template(host);
    in_template("an array");
    in_inline(3);
    [&] { LOGDEF_F(INFO, "lambda {}", port); }();
    logdef_set_level(LOGDEF_WARN);
    LOGDEF_F(INFO, "not written {}", evaluated++);
    return evaluated;
}
