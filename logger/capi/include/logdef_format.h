/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Log calls with the formats of C++'s std::format, for C++20 and later.
 *
 *     #include <logdef_format.h>
 *
 *     LOGDEF_F(INFO, "accepted {}:{} in {:.3f} ms", host, port, ms);
 *     LOGDEF_F(INFO, "accepted {host}", logdef::arg<"host">(host), logdef::arg<"port">(port));
 *
 * As with LOGDEF, nothing is formatted in the program: the arguments go into the log with
 * their types, and the reader prints them. The format is a string literal, checked with
 * its arguments when it is compiled; it needs no <format>, so gcc 12 and clang 14 do.
 *
 * Placeholders are those of the standard: {} or {0}, with [[fill]align][sign][#][0][width]
 * [.precision][type] after a colon; width and precision may be {} or {1}. Not L: a log has
 * no locale. An argument may have a name, which readers show in its fields: {name} prints it,
 * and one that the text does not print is a key-value. Up to 32 arguments: integers
 * of up to 128 bits, bool, char, float and double, strings (const char *, std::string,
 * std::string_view, other ranges of char), void *, nullptr, and logdef::hex(pointer, length).
 * What else there is to write, to filter and to open stands in logdef.h.
 */
#ifndef LOGDEF_FORMAT_H
#define LOGDEF_FORMAT_H

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "logdef_format.h needs C++20 or later: write -std=c++20"
#endif

#include <logdef.h>

extern "C++" {
#include <concepts>
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* __int128 */

/* LOGDEF_F(level, format, ...) writes a record; the level is as for LOGDEF. */
#define LOGDEF_F(level_, ...) \
    LOGDEF_F_(LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), __VA_ARGS__)

namespace logdef {

/* A name, as a template has it. */
template <std::size_t Size>
struct name {
    char text[Size];
    constexpr name(const char (&from)[Size])
    {
        for (std::size_t at = 0; at < Size; at++)
            text[at] = from[at];
    }
};

/* An argument that has a name. */
template <name Name, class Value>
struct named {
    const Value &value;
};

template <name Name, class Value>
constexpr named<Name, Value> arg(const Value &value)
{
    return {value};
}

/* Bytes of any meaning, NUL included. */
inline logdef_bytes hex(const void *at, std::size_t length)
{
    return {at, length};
}

} /* namespace logdef */

/* ---- What a log call expands to ----------------------------------------- */

#define LOGDEF_MEMBER_ __attribute__((__always_inline__))

#define LOGDEF_F_(level_, ...)                                                                \
    do {                                                                                      \
        LOGDEF_CHECK_FORMAT_(static_assert, __VA_ARGS__);                                     \
        struct logdef_format_ {                                                               \
            static constexpr const char *text() { return LOGDEF_FORMAT_(__VA_ARGS__); }       \
        };                                                                                    \
        auto logdef_args_ = false ? ::logdef_cpp::format_args_of(__VA_ARGS__) : nullptr;      \
        (void)logdef_args_;                                                                   \
        using logdef_checked_ = ::logdef_cpp::checked<logdef_format_, decltype(logdef_args_)>; \
        LOGDEF_F_CHECK_(logdef_checked_::fault);                                              \
        LOGDEF_HERE_AT_(level_, LOGDEF_SITE_DESCRIBED, logdef_checked_::described.text);      \
        if ((level_) >= LOGDEF_MIN_LEVEL_()) {                                                \
            LOGDEF_SITE_AT_(level_, LOGDEF_SITE_DESCRIBED, logdef_checked_::described.text,   \
                            logdef_checked_ *);                                               \
            if (LOGDEF_IS_ON_())                                                              \
                ::logdef_cpp::emit_values(logdef_site_, __VA_ARGS__);                         \
        }                                                                                     \
    } while (0)

#define LOGDEF_F_CHECK_(fault_)                                                               \
    static_assert(fault_ != ::logdef_cpp::format_fault::argument,                             \
                  "logdef: an argument is a number, a bool, a char, a string, a void * or "   \
                  "logdef::hex: convert it (static_cast, .c_str())");                         \
    static_assert(fault_ != ::logdef_cpp::format_fault::name,                                 \
                  "logdef: a name is made of letters, digits and _, and no two are equal");   \
    static_assert(fault_ != ::logdef_cpp::format_fault::brace,                                \
                  "logdef: a brace that is text is written twice: {{ or }}");                 \
    static_assert(fault_ != ::logdef_cpp::format_fault::few,                                  \
                  "logdef: the format takes more arguments than are passed");                 \
    static_assert(fault_ != ::logdef_cpp::format_fault::many,                                 \
                  "logdef: an argument has no placeholder: write {} for it, or "              \
                  "logdef::arg<\"key\">(value)");                                             \
    static_assert(fault_ != ::logdef_cpp::format_fault::mixed,                                \
                  "logdef: write {} everywhere or {0} everywhere");                           \
    static_assert(fault_ != ::logdef_cpp::format_fault::unknown,                              \
                  "logdef: no argument has this name: write logdef::arg<\"name\">(value)");   \
    static_assert(fault_ != ::logdef_cpp::format_fault::placeholder,                          \
                  "logdef: a placeholder is {}, {0} or {name}; after a colon "                \
                  "[[fill]align][sign][#][0][width][.precision][type]");                      \
    static_assert(fault_ != ::logdef_cpp::format_fault::locale,                               \
                  "logdef: a log has no locale: leave L out");                                \
    static_assert(fault_ != ::logdef_cpp::format_fault::type,                                 \
                  "logdef: this type of placeholder does not print this argument: integers "  \
                  "take b B c d o x X, floats a A e E f F g G, strings s, pointers p");       \
    static_assert(fault_ != ::logdef_cpp::format_fault::number,                               \
                  "logdef: sign, # and 0 are of numbers");                                    \
    static_assert(fault_ != ::logdef_cpp::format_fault::precision,                            \
                  "logdef: a precision is of floats and strings");                            \
    static_assert(fault_ != ::logdef_cpp::format_fault::count,                                \
                  "logdef: a width or precision that is an argument is an integer");          \
    static_assert(fault_ != ::logdef_cpp::format_fault::most,                                 \
                  "logdef: takes at most 32 arguments")

extern "C++" {
namespace logdef_cpp {
namespace {

enum class format_fault {
    none,
    argument,
    name,
    brace,
    few,
    many,
    mixed,
    unknown,
    placeholder,
    locale,
    type,
    number,
    precision,
    count,
    most
};

/* What an argument is to a placeholder. */
enum class format_type { none, boolean, character, integer, real, short_real, text, pointer, bytes };

/* How an argument is passed: its type, its kind, and the object that its word is of. */
template <class T>
struct passing {
    static constexpr format_type type = format_type::none;
    static constexpr std::uint8_t kind = 0;
    struct slot {
        explicit slot(const T &) {}
        std::uint64_t word() const { return 0; }
    };
};

struct word_slot {
    std::uint64_t held;
    LOGDEF_MEMBER_ std::uint64_t word() const { return held; }
};

template <class T>
concept wide_integer = std::same_as<T, __int128> || std::same_as<T, unsigned __int128>;

template <class T>
concept small_integer = std::integral<T> && !wide_integer<T> && !std::same_as<T, bool> &&
                        !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
                        !std::same_as<T, char8_t> && !std::same_as<T, char16_t> &&
                        !std::same_as<T, char32_t>;

template <small_integer T>
struct passing<T> {
    static constexpr format_type type = format_type::integer;
    static constexpr std::uint8_t kind =
        std::is_signed<T>::value ? LOGDEF_KIND_INT : LOGDEF_KIND_UINT;
    struct slot : word_slot {
        LOGDEF_MEMBER_ explicit slot(T value)
            : word_slot{logdef_cpp::word(value, kind_tag<kind>())}
        {
        }
    };
};

template <wide_integer T>
struct passing<T> {
    static constexpr format_type type = format_type::integer;
    static constexpr std::uint8_t kind =
        static_cast<T>(-1) < 0 ? LOGDEF_KIND_INT128 : LOGDEF_KIND_UINT128;
    struct slot {
        LOGDEF_MEMBER_ explicit slot(T of) : value(of) {}
        LOGDEF_MEMBER_ std::uint64_t word() const
        {
            return reinterpret_cast<std::uintptr_t>(&value);
        }
        T value;
    };
};

template <>
struct passing<bool> {
    static constexpr format_type type = format_type::boolean;
    static constexpr std::uint8_t kind = LOGDEF_KIND_BOOL;
    struct slot : word_slot {
        LOGDEF_MEMBER_ explicit slot(bool value) : word_slot{value} {}
    };
};

template <>
struct passing<char> {
    static constexpr format_type type = format_type::character;
    static constexpr std::uint8_t kind = LOGDEF_KIND_BYTES;
    struct slot {
        LOGDEF_MEMBER_ explicit slot(char of) : value(of), bytes{&value, 1} {}
        slot(const slot &) = delete;
        LOGDEF_MEMBER_ std::uint64_t word() const
        {
            return reinterpret_cast<std::uintptr_t>(&bytes);
        }
        char value;
        logdef_bytes bytes;
    };
};

template <class T>
    requires std::same_as<T, float> || std::same_as<T, double>
struct passing<T> {
    static constexpr format_type type =
        std::same_as<T, float> ? format_type::short_real : format_type::real;
    static constexpr std::uint8_t kind = LOGDEF_KIND_DOUBLE;
    struct slot : word_slot {
        LOGDEF_MEMBER_ explicit slot(double value) : word_slot{logdef_double_bits_(value)} {}
    };
};

template <class T>
    requires std::same_as<T, const char *> || std::same_as<T, char *>
struct passing<T> {
    static constexpr format_type type = format_type::text;
    static constexpr std::uint8_t kind = LOGDEF_KIND_CSTR;
    struct slot : word_slot {
        LOGDEF_MEMBER_ explicit slot(const char *at)
            : word_slot{reinterpret_cast<std::uintptr_t>(at)}
        {
        }
    };
};

template <class T>
    requires std::same_as<T, const void *> || std::same_as<T, void *> ||
             std::same_as<T, std::nullptr_t>
struct passing<T> {
    static constexpr format_type type = format_type::pointer;
    static constexpr std::uint8_t kind = LOGDEF_KIND_POINTER;
    struct slot : word_slot {
        LOGDEF_MEMBER_ explicit slot(const void *at)
            : word_slot{reinterpret_cast<std::uintptr_t>(at)}
        {
        }
    };
};

template <class T>
    requires is_text<T>::value || std::same_as<T, logdef_bytes>
struct passing<T> {
    static constexpr format_type type =
        is_text<T>::value ? format_type::text : format_type::bytes;
    static constexpr std::uint8_t kind =
        is_text<T>::value ? LOGDEF_KIND_BYTES : LOGDEF_KIND_BLOB;
    struct slot {
        LOGDEF_MEMBER_ explicit slot(const T &of) : bytes(bytes_of(of, kind_tag<kind>())) {}
        LOGDEF_MEMBER_ std::uint64_t word() const
        {
            return reinterpret_cast<std::uintptr_t>(&bytes);
        }
        logdef_bytes bytes;
    };
};

template <logdef::name Name, class T>
struct passing<logdef::named<Name, T>> : passing<std::decay_t<T>> {
    using of = passing<std::remove_cv_t<std::decay_t<T>>>;
    static constexpr format_type type = of::type;
    static constexpr std::uint8_t kind = of::kind;
    struct slot : of::slot {
        LOGDEF_MEMBER_ explicit slot(const logdef::named<Name, T> &of_name)
            : of::slot(of_name.value)
        {
        }
    };
};

template <class T>
using passing_of = passing<std::remove_cv_t<std::decay_t<T>>>;

template <class... Args>
struct format_args;

template <class... Args>
format_args<std::remove_cv_t<std::decay_t<Args>>...> *format_args_of(const char *, const Args &...)
{
    return nullptr;
}

/* The name of an argument; empty if it has none. */
template <class T>
struct name_of {
    static constexpr const char *text = "";
};

template <logdef::name Name, class T>
struct name_of<logdef::named<Name, T>> {
    static constexpr const char *text = Name.text;
};

/* An argument, as the format is checked with it. */
struct format_arg {
    format_type type;
    const char *name;
    bool used;
};

constexpr bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

constexpr bool starts_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Checks a format, and writes it as the reader takes it: where neither the value in the log
 * nor the placeholder says what is printed, that gets a type. */
struct format_checker {
    const char *at;
    format_arg *args;
    int count;
    char *out; /* or null */
    std::size_t length = 0;
    int next = 0;
    bool numbered = false;
    format_fault fault = format_fault::none;

    constexpr bool fail(format_fault of)
    {
        if (fault == format_fault::none)
            fault = of;
        return false;
    }

    constexpr void put(char c)
    {
        if (out != nullptr)
            out[length] = c;
        length++;
    }

    constexpr bool take(char c)
    {
        if (*at != c)
            return false;
        put(*at++);
        return true;
    }

    constexpr void check()
    {
        for (int i = 0; i < count; i++)
            if (args[i].type == format_type::none)
                return void(fail(format_fault::argument));
        check_names();
        while (*at != 0 && fault == format_fault::none) {
            const char first = *at;
            put(*at++);
            if ((first == '{' || first == '}') && !take(first) &&
                (first == '}' || *at == 0 || !placeholder()))
                return void(fail(format_fault::brace));
        }
        for (int i = 0; i < count; i++)
            if (!args[i].used && *args[i].name == 0)
                fail(format_fault::many);
    }

    constexpr void check_names()
    {
        for (int i = 0; i < count; i++) {
            for (const char *c = args[i].name; *c != 0; c++)
                if (!starts_name(*c) && (c == args[i].name || !is_digit(*c)))
                    fail(format_fault::name);
            for (int j = 0; j < i; j++)
                if (*args[i].name != 0 && same(args[i].name, args[j].name, -1))
                    fail(format_fault::name);
        }
    }

    /* Whether a name is the first `length` characters of a text, or all of it. */
    static constexpr bool same(const char *name, const char *text, long length)
    {
        long i = 0;
        for (; name[i] != 0 && i != length; i++)
            if (name[i] != text[i])
                return false;
        return name[i] == 0 && (length == -1 ? text[i] == 0 : i == length);
    }

    /* The argument that stands here by number, name, or not at all. */
    constexpr format_arg *argument()
    {
        int index = 0;
        if (is_digit(*at)) {
            if (next > 0)
                fail(format_fault::mixed);
            numbered = true;
            if (*at == '0' && is_digit(at[1]))
                fail(format_fault::placeholder);
            index = number();
        } else if (starts_name(*at)) {
            const char *const start = at;
            while (starts_name(*at) || is_digit(*at))
                put(*at++);
            while (index < count && !same(args[index].name, start, at - start))
                index++;
            if (index == count)
                fail(format_fault::unknown);
        } else {
            if (numbered)
                fail(format_fault::mixed);
            index = next++;
        }
        if (index >= count) {
            fail(format_fault::few);
            return nullptr;
        }
        args[index].used = true;
        return &args[index];
    }

    constexpr int number()
    {
        int n = 0;
        while (is_digit(*at)) {
            n = n > 99999 ? n : n * 10 + (*at - '0');
            put(*at++);
        }
        return n;
    }

    /* What comes after a `{`. */
    constexpr bool placeholder()
    {
        const format_arg *const arg = argument();
        if (arg == nullptr)
            return false;
        char type = 0;
        bool colon = take(':'), exact = false;
        if (colon && !spec(*arg, type, exact))
            return false;
        if (type == 0 && (arg->type == format_type::pointer ||
                          (arg->type == format_type::short_real && !exact))) {
            if (!colon)
                put(':');
            put(arg->type == format_type::pointer ? 'p' : 'h');
        }
        return take('}') || fail(format_fault::placeholder);
    }

    constexpr bool spec(const format_arg &arg, char &type, bool &exact)
    {
        fill_and_align();
        const bool sign = take('+') || take('-') || take(' ');
        const bool alternate = take('#');
        const bool zero = take('0');
        if (!amount())
            return false;
        if (*at == '.') {
            put(*at++);
            exact = true;
            if (!is_digit(*at) && *at != '{')
                return fail(format_fault::placeholder);
            if (!amount())
                return false;
        }
        if (*at == 'L')
            return fail(format_fault::locale);
        if (starts_name(*at) || *at == '?') {
            type = *at;
            put(*at++);
        }
        if (*at != '}')
            return fail(format_fault::placeholder);
        return fits(arg, type, sign || alternate || zero, exact);
    }

    constexpr void fill_and_align()
    {
        int size = 1;
        while ((static_cast<unsigned char>(at[size > 0 && *at != 0 ? size : 0]) & 0xc0) == 0x80)
            size++;
        if (*at != 0 && *at != '{' && *at != '}' && is_one_of(at[size], "<>^") && at[size] != 0)
            for (; size > 0; size--)
                put(*at++);
        if (*at != 0 && is_one_of(*at, "<>^"))
            put(*at++);
    }

    /* A width or a precision, if there is one. */
    constexpr bool amount()
    {
        if (!take('{')) {
            number();
            return true;
        }
        const format_arg *const arg = argument();
        if (arg == nullptr)
            return false;
        if (arg->type != format_type::integer)
            return fail(format_fault::count);
        return take('}') || fail(format_fault::placeholder);
    }

    constexpr bool fits(const format_arg &arg, char type, bool is_number, bool exact)
    {
        const bool is_real =
            arg.type == format_type::real || arg.type == format_type::short_real;
        bool takes_sign = false;
        const char *own = "";
        switch (arg.type) {
        case format_type::boolean: own = "s"; break;
        case format_type::character: own = "c"; break;
        case format_type::text: own = "s"; break;
        case format_type::pointer: own = "p"; break;
        case format_type::integer: own = "c"; takes_sign = type != 'c'; break;
        case format_type::real:
        case format_type::short_real: own = "aAeEfFgG"; takes_sign = true; break;
        default: break;
        }
        const bool is_integer = arg.type == format_type::boolean ||
                                arg.type == format_type::character ||
                                arg.type == format_type::integer;
        const bool by_digits = is_integer && type != 0 && is_one_of(type, "bBdoxX");
        if (type != 0 && !by_digits && !is_one_of(type, own))
            return fail(format_fault::type);
        if (is_number && !takes_sign && !by_digits)
            return fail(format_fault::number);
        if (exact && !is_real && arg.type != format_type::text)
            return fail(format_fault::precision);
        return true;
    }
};

/* What stands at the address of a format: nothing, the description, the template. */
template <std::size_t Size>
struct described_format {
    char text[Size];
};

template <class Format, class Args>
struct checked;

template <class Format, class... Args>
struct checked<Format, format_args<Args...> *> {
    static constexpr int count = sizeof...(Args);

    static constexpr format_checker check_into(char *out)
    {
        format_arg args[] = {{passing<Args>::type, name_of<Args>::text, false}...,
                             {format_type::none, "", false}};
        format_checker checker{Format::text(), args, count, out};
        if (count > LOGDEF_MAX_ARGS)
            checker.fail(format_fault::most);
        checker.check();
        checker.args = nullptr;
        return checker;
    }

    static constexpr format_fault fault = check_into(nullptr).fault;

    /* The description, with its NULs; its length if there is nowhere to write it. */
    static constexpr std::size_t describe(char *out)
    {
        const char *const names[] = {name_of<Args>::text..., ""};
        std::size_t length = 0;
        const auto put = [&](char c) {
            if (out != nullptr)
                out[length] = c;
            length++;
        };
        put(0);
        put('f');
        int last = count;
        while (last > 0 && *names[last - 1] == 0)
            last--;
        for (int i = 0; i < last; i++) {
            put(i == 0 ? ':' : ',');
            for (const char *c = names[i]; *c != 0; c++)
                put(*c);
        }
        put(0);
        return length;
    }

    static constexpr std::size_t size = describe(nullptr) + check_into(nullptr).length + 1;

    static constexpr described_format<size> make()
    {
        described_format<size> made = {};
        check_into(made.text + describe(made.text));
        return made;
    }

    static constexpr described_format<size> described = make();
};

template <class Format, class... Args>
struct kinds_of<checked<Format, format_args<Args...> *> *> {
    static constexpr int count = sizeof...(Args);
    static constexpr std::uint8_t kinds[sizeof...(Args) + 1] = {passing<Args>::kind..., 0};
};

template <class... Slots>
LOGDEF_INLINE_ void emit_slots(const logdef_site *site, const Slots &...slots)
{
    const std::uint64_t words[] = {slots.word()..., 0};
    logdef_emit(site, words);
}

/* The slots live until the record is written. */
template <class... Args>
LOGDEF_INLINE_ void emit_values(const logdef_site *site, const char *, const Args &...args)
{
    emit_slots(site, typename passing_of<Args>::slot(args)...);
}

} /* namespace */
} /* namespace logdef_cpp */
} /* extern "C++" */

#pragma GCC diagnostic pop

#endif /* LOGDEF_FORMAT_H */
