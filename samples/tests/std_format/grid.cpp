// Logs a grid of placeholders and values, and prints what the C++ library and libfmt make of
// the same: std_format LOG. The standard's own functions where libfmt is of another mind: the
// shortest digits of a number, and those in hexadecimal, are std::to_chars's.
#include <logdef_format.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>

#define FMT_HEADER_ONLY
#include <fmt/format.h>

// A line of its own for each record, whatever the text holds.
static void print(std::string_view text)
{
    for (const char c : text)
        std::printf("%02x", static_cast<unsigned char>(c));
    std::putchar('\n');
}

#define EACH(template_, ...)                                 \
    do {                                                     \
        LOGDEF_F(INFO, template_, __VA_ARGS__);              \
        print(fmt::format(template_, __VA_ARGS__));          \
    } while (0)

template <class T>
static void integer(const T &value)
{
    EACH("{}", value);
    EACH("{:d}|{:5}|{:<5}|{:^6}|{:>7}|{:*^9}|{:é>12}", value, value, value, value, value, value, value);
    EACH("{:05}|{:012d}|{:09x}", value, value, value);
    LOGDEF_F(INFO, "{:<07}|{:>09x}|{:*^014}", value, value, value); // In libfmt 9 0 is a fill.
    print(fmt::format("{:<7}|{:>9x}|{:*^14}", value, value, value));
    EACH("{:b}|{:B}|{:o}|{:x}|{:X}", value, value, value, value, value);
    EACH("{:#b}|{:#B}|{:#o}|{:#x}|{:#X}", value, value, value, value, value);
    EACH("{:#012x}|{:<#12o}|{:^#80b}|{:#0140b}", value, value, value, value);
    if constexpr (static_cast<T>(-1) < 0) // libfmt refuses a sign of what has none.
        EACH("{:+}|{: }|{:-}|{:+07}|{: 012d}|{:+#012X}|{: #140b}", value, value, value, value, value, value, value);
    EACH("{0} {0:x} {0:#o} {1}", value, 1);
    EACH("{:{}}|{:>{}}", value, 9, value, 30u);
}

template <class T>
static void small_integer(T value)
{
    integer(value);
    if (value >= 0 && value < 0x7f)
        EACH("{:c}|{:4c}|{:>4c}|{:*^5c}", value, value, value, value);
}

static void boolean(bool value)
{
    EACH("{}|{:s}|{:7}|{:>7}|{:*^8}", value, value, value, value, value);
    EACH("{:d}|{:5d}|{:#x}|{:#b}|{:05o}", value, value, value, value, value);
}

static void character(char value)
{
    EACH("{}|{:c}|{:4}|{:>4}|{:*^5}", value, value, value, value, value);
    EACH("{:d}|{:5d}|{:#x}|{:#b}|{:05o}", value, value, value, value, value);
}

template <class T>
static void text(const T &value)
{
    EACH("{}|{:s}|{:12}|{:<12}|{:>12}|{:^12}|{:*^13}|{:世>9}", value, value, value, value, value, value, value, value);
    if (std::string_view(value) == "世界") { // libfmt 9 cuts at characters and not at columns.
        LOGDEF_F(INFO, "{:.3}|{:.4}|{:6.2}|", value, value, value);
        return print("世|世界|世    |");
    }
    EACH("{:.3}|{:.0}|{:9.4}|{:>9.4s}|{:é^9.4}|{:.{}}|{:{}.{}}", value, value, value, value, value, value, 2,
         value, 8, 3);
}

static void pointer(const void *value)
{
    EACH("{}|{:p}|{:20}|{:<20}|{:*^20p}", value, value, value, value, value);
}

// The shortest digits.
template <class T>
static std::string shortest(T value)
{
    char room[512];
    const auto end = std::to_chars(room, room + sizeof room, std::fabs(value)).ptr;
    return std::string(room, end);
}

template <class T>
static std::string hexadecimal(T value, int precision)
{
    char room[512];
    const T of = std::fabs(value);
    const auto to = room + sizeof room;
    const auto end = precision < 0 ? std::to_chars(room, to, of, std::chars_format::hex).ptr
                                   : std::to_chars(room, to, of, std::chars_format::hex, precision).ptr;
    return std::string(room, end);
}

// With its sign.
template <class T>
static std::string with(const char *plus, T value, const std::string &digits)
{
    return (std::signbit(value) ? "-" : plus) + digits;
}

template <class T>
static void real(T value)
{
    const std::string digits = shortest(value), plain = with("", value, digits);

    LOGDEF_F(INFO, "{}|{:30}|{:<30}|{:*^30}|{:+}|{: }", value, value, value, value, value, value);
    print(fmt::format("{0}|{0:>30}|{0:<30}|{0:*^30}|{1}|{2}", plain, with("+", value, digits), with(" ", value, digits)));
    if (std::isfinite(value)) {
        const std::string sign = std::signbit(value) ? "-" : "";
        LOGDEF_F(INFO, "{:030}|{:<030}", value, value);
        print(fmt::format("{0}{1:0>{2}}|{3:<30}", sign, digits, 30 - sign.size(), plain));
        EACH("{:{}.{}f}|{:.{}e}", value, 12, 2, value, 4);
    }
    if (std::isnormal(value)) {
        LOGDEF_F(INFO, "{:a}|{:.2a}|{:.0a}|{:.20a}", value, value, value, value);
        print(fmt::format("{}|{}|{}|{}", with("", value, hexadecimal(value, -1)), with("", value, hexadecimal(value, 2)),
                          with("", value, hexadecimal(value, 0)), with("", value, hexadecimal(value, 20))));
    }
    EACH("{:.0}|{:.1}|{:.3}|{:.17}|{:012.4}", value, value, value, value, value);
    EACH("{:f}|{:F}|{:.0f}|{:.1f}|{:.3f}|{:.25f}", value, value, value, value, value, value);
    EACH("{:e}|{:E}|{:.0e}|{:.1e}|{:.3E}|{:.25e}", value, value, value, value, value, value);
    EACH("{:g}|{:G}|{:.0g}|{:.1g}|{:.3G}|{:.25g}", value, value, value, value, value, value);
    EACH("{:+f}|{: e}|{:-g}|{:012.3f}|{:+012.1e}|{:*^14.2g}", value, value, value, value, value, value);
    EACH("{:#.0f}|{:#.0e}|{:#.3f}", value, value, value);
}

template <class T>
static void reals()
{
    using limits = std::numeric_limits<T>;
    for (const T value : {T(0), T(1), T(1.5), T(0.1), T(2.675), T(123.456), T(0.0001), T(0.00001), T(100000), T(99999.5),
                          T(123456), T(1234567), T(1e15), T(1e16), T(1e17), T(1e22), T(1e23), T(1.2345678901234567e20),
                          T(16777216), T(1073741824), T(5e-5), T(1e-7), T(3.0e-10), T(9007199254740993.0), limits::max(),
                          limits::min(), limits::denorm_min(), limits::epsilon(), limits::infinity(), limits::quiet_NaN()}) {
        real(value);
        real(-value);
    }
}

template <class T>
static void integers()
{
    using limits = std::numeric_limits<T>;
    for (const T value : {T(0), T(1), T(7), T(8), T(65), T(100), limits::min(), limits::max(), T(limits::max() / 3)})
        small_integer(value);
}

int main(int argc, char **argv)
{
    if (argc < 2 || logdef_open(argv[1]) != 0)
        return 1;
    integers<signed char>();
    integers<unsigned char>();
    integers<short>();
    integers<unsigned short>();
    integers<int>();
    integers<unsigned>();
    integers<long>();
    integers<unsigned long>();
    integers<long long>();
    integers<unsigned long long>();
    __extension__ typedef __int128 wide;
    __extension__ typedef unsigned __int128 unsigned_wide;
    for (const wide value : {wide(0), wide(-1), wide(1) << 100, -(wide(1) << 100), wide(~unsigned_wide(0) >> 1)}) {
        integer(value);
        integer(static_cast<unsigned_wide>(value));
    }
    for (const bool value : {false, true})
        boolean(value);
    for (const char value : {'a', ' ', '~', '\x01', '0'})
        character(value);
    for (const std::string_view value : {"", "a", "größe", "世界", "long enough to be cut", "a\xff" "b", "e\xcc\x81"}) {
        text(value);
        text(std::string(value));
        text(std::string(value).c_str());
    }
    text("an array");
    pointer(nullptr);
    pointer(reinterpret_cast<const void *>(0x7fff12345678));
    reals<double>();
    reals<float>();
    EACH("{{}} {{{}}} {}", 1, 2);
    EACH("{1} {0} {1:x}", 1, 2);
    return 0;
}
