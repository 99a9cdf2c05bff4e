// Log calls as a C++ program may write them; compiled with every warning that
// the header promises to be clean under.
#include <logdef.h>

#include <cinttypes>
#include <string>
#include <vector>

#include "calls.h"

#define DEBUG 1 // as many programs have it


namespace {

enum Unscoped { RED, GREEN };
enum Below { BELOW = -1 };
enum class Scoped : std::uint8_t { ONE = 1 };

struct Fields {
    unsigned int narrow : 3;
    int negative : 5;
    bool flag : 1;
};

int evaluations;

int evaluate(int value)
{
    evaluations++;
    return value;
}

template <class... T>
void in_variadic_template(const T &...values)
{
    LOGDEF(INFO, "variadic %d %d", values...);
}

struct Object {
    int member = 0;

    explicit Object(int i) : member(i)
    {
        LOGDEF(INFO, "constructor %d", i);
    }
    Object(const Object &) = delete;
    Object &operator=(const Object &) = delete;
    virtual ~Object()
    {
        LOGDEF(INFO, "destructor %d", member);
    }
    virtual int method() const noexcept
    {
        LOGDEF(INFO, "method %d", member);
        return member;
    }
    static int of_class()
    {
        LOGDEF(INFO, "static method");
        return 0;
    }
    template <class T>
    T of_template(T value)
    {
        LOGDEF(INFO, "method template %d", member);
        return value;
    }
};

template <class T>
struct Generic {
    T value = T();
    T method()
    {
        auto closure = [this] { LOGDEF(INFO, "closure %d", static_cast<int>(value)); };
        closure();
        LOGDEF(WARN, "method of a class template");
        return value;
    }
};

Object global(1);

} // namespace

void cpp_levels()
{
    LOGDEF(TRACE, "trace");
    LOGDEF(DEBUG, "debug");
    LOGDEF(INFO, "info");
    LOGDEF(WARN, "warn");
    LOGDEF(ERROR, "error");
    LOGDEF(FATAL, "fatal");
    LOGDEF(0x31, "number");
    LOGDEF(LOGDEF_WARN, "named");
    LOGDEF_BT(INFO, "backtrace of %d", 1);
}

void cpp_types(const Incomplete *incomplete, char *text, void (*function)())
{
    const Fields fields = {5, -3, true};
    const volatile long lasting = -4;
    const Unscoped unscoped = GREEN;
    const Below below = BELOW;
    const float single = 0.5F;
    char array[] = "array";
    const std::string string = "string";
    int counted;

    LOGDEF(INFO, "%d %i %u %x %X %o", -1, 2, 3U, 4U, 5U, 6U);
    LOGDEF(INFO, "%ld %lld %jd %zd %td", -3L, -4LL, std::intmax_t{-5}, std::ptrdiff_t{-6},
           std::ptrdiff_t{-7});
    LOGDEF(INFO, "%lu %llu %ju %zu", 3UL, 4ULL, std::uintmax_t{5}, sizeof(int));
    LOGDEF(INFO, "%" PRId64 " %" PRIu32 " %d", INT64_MIN, UINT32_MAX, true);
    LOGDEF(INFO, "%f %e %g %a %.*f", 1.5, 2.5, static_cast<double>(single), -0.0, 3, 0.1);
    LOGDEF(INFO, "%Lf %Lg", 1.25L, -2.5L);
    LOGDEF(INFO, "%c %lc", 'x', static_cast<wint_t>(L'y'));
    LOGDEF(INFO, "%s %s %.*s %s", text, "literal", 3, array, string.c_str());
    LOGDEF(INFO, "%ls", L"wide");
    LOGDEF(INFO, "%p %p %p", static_cast<const void *>(incomplete),
           static_cast<void *>(nullptr), static_cast<void *>(&text));
    LOGDEF(INFO, "%p", reinterpret_cast<void *>(function));
    LOGDEF(INFO, "%u %d %d", fields.narrow, fields.negative, fields.flag);
    LOGDEF(INFO, "%ld %d %d %d", lasting, static_cast<int>(unscoped), below,
           static_cast<int>(Scoped::ONE));
    LOGDEF(INFO, "%d%n", 1, &counted);
    LOGDEF(INFO,
           "%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d"
           "%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d",
           0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
           25, 26, 27, 28, 29, 30, 31);
}

void cpp_limits(int i)
{
    LOGDEF_ONCE(INFO, "once");
    LOGDEF_FIRST_N(3, WARN, "first %d", i);
    LOGDEF_EVERY_N(4, DEBUG, "every %d", i);
    LOGDEF_EVERY_N(i, INFO, "every so many");
    LOGDEF_AT_MOST_EVERY(100, INFO, "seldom %s %d", "text", i);
}

int cpp_places(int i)
{
    if (i > 0)
        LOGDEF(INFO, "then %d", evaluate(i));
    else
        LOGDEF(INFO, "else %d", evaluate(-i));
    for (int n : std::vector<int>{1, 2})
        LOGDEF(INFO, "loop %d", n);
    switch (i) {
    case 1:
        LOGDEF(INFO, "case %d", i);
        break;
    default:
        LOGDEF(INFO, "default %d", i++);
    }
    LOGDEF(INFO, "one"); LOGDEF(INFO, "line"); LOGDEF(INFO, "three %d calls", i);
    const auto lambda = [i](int n) {
        LOGDEF(INFO, "lambda %d %d", i, n);
        return n;
    };
    LOGDEF(INFO, "%d", [](int n) { return n + 1; }(i));
    LOGDEF(INFO, "%d %d", lambda(1), in_inline(2));
    try {
        throw i;
    } catch (int caught) {
        LOGDEF(ERROR, "caught %d", caught);
    }
    Object object(in_template(1) + static_cast<int>(in_template(2.0)));
    in_variadic_template(1, 2);
    Generic<int> ints;
    Generic<long> longs;
    LOGDEF(INFO, "%d %d %d %d %ld %d", object.method(), Object::of_class(), object.of_template(1),
           ints.method(), longs.method(), shared_header(i));
    return evaluations + global.member;
}

void cpp_wrapped(int i)
{
    logdef_log(LOGDEF_INFO, "log %d %s", i, "text");
}
