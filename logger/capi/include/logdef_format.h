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
 * of up to 128 bits, bool, char, floating-point numbers (long double as double), strings (const char *, std::string,
 * std::string_view, other ranges of char), void *, nullptr, and logdef::hex(pointer, length).
 * What else there is to write, to filter and to open stands in logdef.h.
 *
 * An enumeration is logged by the name of its value, as far as it is found (see enum_range), one
 * whose underlying type is not fixed as an integer. A type of the program's is logged by a
 * specialization of logdef::argument, to a value of these types, or to several with names:
 *
 *     template <> struct logdef::argument<Point> {
 *         static auto fields(const Point &p)
 *         {
 *             return logdef::fields(logdef::field<"x">(p.x), logdef::field<"y">(p.y));
 *         }
 *     };
 *     LOGDEF_F(INFO, "moved to {}", point);                     // moved to x=1 y=2
 *     LOGDEF_F(INFO, "moved", logdef::arg<"to">(point));        // moved to.x=1 to.y=2
 *
 *     template <> struct logdef::argument<Peer> {
 *         static auto of(const Peer &peer)
 *         {
 *             logdef::text<64> text;
 *             std::format_to(std::back_inserter(text), "{}:{}", peer.host, peer.port);
 *             return text;
 *         }
 *     };
 *
 * logdef_stream.h does that for each type that has an operator<<.
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
    LOGDEF_F_(LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), 0, __VA_ARGS__)

/* As those of logdef.h without the F. */
#define LOGDEF_F_AT(level_, ...) LOGDEF_F_(level_, 0, __VA_ARGS__)

#define LOGDEF_F_BT(level_, ...)                                                              \
    LOGDEF_F_(LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), LOGDEF_SITE_BACKTRACE,       \
              __VA_ARGS__)

#define LOGDEF_F_ONCE(level_, ...)                                                            \
    LOGDEF_F_LIMITED_(logdef_first_n_, 1,                                                     \
                      LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), __VA_ARGS__)
#define LOGDEF_F_FIRST_N(n_, level_, ...)                                                     \
    LOGDEF_F_LIMITED_(logdef_first_n_, n_,                                                    \
                      LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), __VA_ARGS__)
#define LOGDEF_F_EVERY_N(n_, level_, ...)                                                     \
    LOGDEF_F_LIMITED_(logdef_every_n_, n_,                                                    \
                      LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), __VA_ARGS__)
#define LOGDEF_F_AT_MOST_EVERY(ms_, level_, ...)                                              \
    LOGDEF_F_LIMITED_(logdef_at_most_every, ms_,                                              \
                      LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), __VA_ARGS__)
/* Values of counters: a named argument goes by its name, {used} or a key-value. */
#define LOGDEF_F_COUNTER(level_, ...)                                                         \
    LOGDEF_F_(LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), LOGDEF_SITE_COUNTER,         \
              __VA_ARGS__)

#define LOGDEF_F_BEGIN(level_, ...)                                                           \
    LOGDEF_F_(LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), LOGDEF_SITE_BEGIN,           \
              __VA_ARGS__)
#define LOGDEF_F_END(level_, ...)                                                             \
    LOGDEF_F_(LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), LOGDEF_SITE_END, __VA_ARGS__)
#define LOGDEF_F_SPAN(level_, ...)                                                            \
    LOGDEF_F_SPAN_(LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), __LINE__, __VA_ARGS__)
#define LOGDEF_F_ASYNC_BEGIN(id_, level_, ...)                                                \
    LOGDEF_F_ASYNC_(id_, LOGDEF_SITE_BEGIN | LOGDEF_SITE_SPAN,                                \
                    LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), __VA_ARGS__)
#define LOGDEF_F_ASYNC_END(id_, level_, ...)                                                  \
    LOGDEF_F_ASYNC_(id_, LOGDEF_SITE_END | LOGDEF_SITE_SPAN,                                  \
                    LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), __VA_ARGS__)

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

/* How a type of the program's is logged: a specialization has of() or fields(). */
template <class T>
struct argument {};

/* A named value of one that has fields. It is copied if it is small and plain; else it is referred
 * to, and must live as long as what the fields are of. */
template <class T>
using field_held = std::conditional_t<std::is_trivially_copyable_v<T> && sizeof(T) <= 16, const T, const T &>;

template <name Name, class T>
struct field_of {
    field_held<T> value;
};

template <name Name, class T>
constexpr field_of<Name, std::decay_t<const T &>> field(const T &value)
    requires(!std::is_array_v<T>)
{
    return {value};
}

template <name Name>
constexpr field_of<Name, const char *> field(const char *value)
{
    return {value};
}

/* What is made only for the call would be gone: give a std::string_view, or logdef::text. */
template <name Name, class T>
    requires(!std::is_trivially_copyable_v<T> || sizeof(T) > 16)
void field(const T &&value) = delete;

template <class... Fields>
struct fields_of {};

template <class First, class... Rest>
struct fields_of<First, Rest...> {
    First first;
    fields_of<Rest...> rest;
};

constexpr fields_of<> fields()
{
    return {};
}

template <class First, class... Rest>
constexpr fields_of<First, Rest...> fields(const First &first, const Rest &...rest)
{
    return {first, fields(rest...)};
}

/* Text in memory of its own, for std::format_to, snprintf and the like: it takes Room bytes, and
 * ends in "..." if it was longer. */
template <std::size_t Room = 256>
class text {
    static_assert(Room > 3, "logdef: a text has room for more than its end");

public:
    typedef char value_type;

    const char *data() const { return bytes_; }
    std::size_t size() const { return size_; }

    void push_back(char c)
    {
        if (size_ < Room)
            bytes_[size_++] = c;
        else
            bytes_[Room - 3] = bytes_[Room - 2] = bytes_[Room - 1] = '.';
    }

    void append(const char *from, std::size_t length)
    {
        for (; length > 0 && size_ < Room; length--)
            bytes_[size_++] = *from++;
        if (length > 0)
            push_back('.');
    }

    __attribute__((__format__(__printf__, 2, 3))) void print(const char *format, ...)
    {
        va_list args;
        char made[Room + 1];
        va_start(args, format);
        const int length = __builtin_vsnprintf(made, sizeof made, format, args);
        va_end(args);
        if (length > 0)
            append(made, static_cast<std::size_t>(length) < Room ? static_cast<std::size_t>(length)
                                                                 : Room);
        if (length > 0 && static_cast<std::size_t>(length) > Room)
            push_back('.');
    }

private:
    std::size_t size_ = 0;
    char bytes_[Room];
};

/* Between which values an enumeration has names that are looked for when the call is compiled;
 * each value takes time. A specialization may have other bounds. */
template <class T>
struct enum_range {
    static constexpr int min = -1;
    static constexpr int max = 63;
};

/* The name of an enumerator, or the digits of a value that has none: as text for LOGDEF and
 * LOGDEF_KV too. */
class enum_text {
public:
    enum_text(const char *name, std::size_t length) : name_(name), size_(length) { digits_[0] = 0; }

    enum_text(bool is_negative, unsigned long long value)
        : name_(nullptr), size_(0), start_(sizeof digits_)
    {
        unsigned long long left = is_negative ? 0 - value : value;
        do
            digits_[--start_] = static_cast<char>('0' + left % 10);
        while ((left /= 10) != 0);
        if (is_negative)
            digits_[--start_] = '-';
        size_ = sizeof digits_ - start_;
    }

    const char *data() const { return name_ != nullptr ? name_ : digits_ + start_; }
    std::size_t size() const { return size_; }

private:
    const char *name_;
    std::size_t size_;
    std::size_t start_ = 0;
    char digits_[20];
};

/* Whether each number is a value of an enumeration. */
template <class T>
concept fixed_enum = std::is_enum_v<T> && requires { T{0}; };

template <fixed_enum T>
static enum_text name_of(T value);

template <fixed_enum T>
struct argument<T> {
    static enum_text of(T value) { return name_of(value); }
};

} /* namespace logdef */

/* ---- What a log call expands to ----------------------------------------- */

#define LOGDEF_MEMBER_ __attribute__((__always_inline__))

#define LOGDEF_F_(level_, flags_, ...)                                                        \
    LOGDEF_F_IF_ON_(level_, flags_, ::logdef_cpp::emit_values(LOGDEF_CALL_(), __VA_ARGS__),   \
                    __VA_ARGS__)

#define LOGDEF_F_IF_ON_(level_, flags_, then_, ...)                                           \
    do {                                                                                      \
        LOGDEF_CHECK_FORMAT_(static_assert, __VA_ARGS__);                                     \
        struct logdef_format_ {                                                               \
            static constexpr const char *text() { return LOGDEF_FORMAT_(__VA_ARGS__); }       \
        };                                                                                    \
        auto logdef_args_ = false ? ::logdef_cpp::format_args_of(__VA_ARGS__) : nullptr;      \
        (void)logdef_args_;                                                                   \
        using logdef_checked_ = ::logdef_cpp::checked<logdef_format_, decltype(logdef_args_)>; \
        LOGDEF_F_CHECK_(logdef_checked_::fault);                                              \
        LOGDEF_HERE_AT_(level_, (flags_) | LOGDEF_SITE_DESCRIBED,                             \
                        logdef_checked_::described.text);                                     \
        if (LOGDEF_IS_IN_()) {                                                                \
            LOGDEF_SITE_AT_(level_, (flags_) | LOGDEF_SITE_DESCRIBED,                         \
                            logdef_checked_::described.text, logdef_checked_ *);              \
            if (LOGDEF_IS_ON_()) {                                                            \
                then_;                                                                        \
            }                                                                                 \
        }                                                                                     \
    } while (0)

#define LOGDEF_F_LIMITED_(take_, limit_, level_, ...)                                         \
    LOGDEF_F_IF_ON_(level_, LOGDEF_SITE_LIMITED,                                              \
                    const ::std::int64_t logdef_skipped_ =                                    \
                        take_(&::logdef_cpp::statics<logdef_here_>::limit,                    \
                              static_cast< ::std::uint64_t>(limit_));                         \
                    if (logdef_skipped_ >= 0)                                                 \
                        ::logdef_cpp::emit_values_and(                                        \
                            LOGDEF_CALL_(), static_cast< ::std::uint64_t>(logdef_skipped_),   \
                            __VA_ARGS__),                                                     \
                    __VA_ARGS__)

#define LOGDEF_F_ASYNC_(id_, flags_, level_, ...)                                             \
    LOGDEF_F_IF_ON_(level_, flags_,                                                           \
                    ::logdef_cpp::emit_values_and(                                            \
                        LOGDEF_CALL_(), static_cast< ::std::uint64_t>(id_), __VA_ARGS__),     \
                    __VA_ARGS__)

#define LOGDEF_F_SPAN_(level_, line_, ...) LOGDEF_F_SPAN_AT_(level_, line_, __VA_ARGS__)
#define LOGDEF_F_SPAN_AT_(level_, line_, ...)                                                 \
    const int logdef_level_##line_ = (level_);                                                \
    bool logdef_began_##line_ = false;                                                        \
    LOGDEF_F_IF_ON_(logdef_level_##line_, LOGDEF_SITE_BEGIN, logdef_began_##line_ = true;     \
                    ::logdef_cpp::emit_values(LOGDEF_CALL_(), __VA_ARGS__), __VA_ARGS__);     \
    LOGDEF_END_SPAN_(logdef_level_##line_, line_)

#define LOGDEF_F_CHECK_(fault_)                                                               \
    static_assert(fault_ != ::logdef_cpp::format_fault::argument,                             \
                  "logdef: an argument is a number, a bool, a char, a string, an enumeration, " \
                  "a void * or logdef::hex: convert it (static_cast, .c_str()), or "          \
                  "specialize logdef::argument for its type");                                \
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
enum class format_type {
    none,
    boolean,
    character,
    integer,
    real,
    short_real,
    text,
    pointer,
    bytes,
    fields
};

/* The name of an argument; empty if it has none. */
template <class T>
struct name_of {
    static constexpr const char *text = "";
};

template <logdef::name Name, class T>
struct name_of<logdef::named<Name, T>> {
    static constexpr const char *text = Name.text;
};

template <logdef::name Name, class T>
struct name_of<logdef::field_of<Name, T>> {
    static constexpr const char *text = Name.text;
};

template <class T>
concept converted = requires(const T &value) { logdef::argument<T>::of(value); };

template <class T>
concept decomposed =
    !converted<T> && requires(const T &value) { logdef::argument<T>::fields(value); };

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
#ifdef __cpp_char8_t /* not with -fno-char8_t */
                        !std::same_as<T, char8_t> &&
#endif
                        !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

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
    requires std::floating_point<T>
struct passing<T> {
    static constexpr format_type type =
        std::same_as<T, float> ? format_type::short_real : format_type::real;
    static constexpr std::uint8_t kind = LOGDEF_KIND_DOUBLE;
    struct slot : word_slot {
        LOGDEF_MEMBER_ explicit slot(T value)
            : word_slot{logdef_double_bits_(static_cast<double>(value))}
        {
        }
    };
};

/* An enumeration with other numbers than its values. */
template <class T>
    requires(std::is_enum_v<T> && !logdef::fixed_enum<T> && !converted<T>)
struct passing<T> : passing<typename integer<T>::type> {};

/* What logdef::argument makes of a type. */
template <converted T>
struct passing<T> {
    using made = decltype(logdef::argument<T>::of(std::declval<const T &>()));
    using of = passing<std::remove_cv_t<std::decay_t<made>>>;
    static constexpr format_type type =
        of::type == format_type::fields ? format_type::none : of::type;
    static constexpr std::uint8_t kind = of::kind;
    struct slot {
        LOGDEF_MEMBER_ explicit slot(const T &value)
            : held(logdef::argument<T>::of(value)), passed(held)
        {
        }
        slot(const slot &) = delete;
        LOGDEF_MEMBER_ std::uint64_t word() const { return passed.word(); }
        made held;
        typename of::slot passed;
    };
};

/* The slots of a value that has fields. */
template <class... Fields>
struct field_slots {
    LOGDEF_MEMBER_ explicit field_slots(const logdef::fields_of<> &) {}
    LOGDEF_MEMBER_ void put(std::uint64_t *&) const {}
};

template <class First, class... Rest>
struct field_slots<First, Rest...> {
    LOGDEF_MEMBER_ explicit field_slots(const logdef::fields_of<First, Rest...> &of)
        : first(of.first.value), rest(of.rest)
    {
    }
    LOGDEF_MEMBER_ void put(std::uint64_t *&to) const
    {
        *to++ = first.word();
        rest.put(to);
    }
    typename passing<First>::of::slot first;
    field_slots<Rest...> rest;
};

template <class Fields>
struct field_list;

template <class... Fields>
struct field_list<logdef::fields_of<Fields...>> {
    static constexpr int count = sizeof...(Fields);
    static constexpr format_type types[sizeof...(Fields) + 1] = {passing<Fields>::type...,
                                                                 format_type::none};
    static constexpr const char *names[sizeof...(Fields) + 1] = {name_of<Fields>::text..., ""};
    static constexpr std::uint8_t kinds[sizeof...(Fields) + 1] = {passing<Fields>::kind..., 0};
    using slots = field_slots<Fields...>;
};

template <decomposed T>
struct passing<T> {
    using made = std::remove_cv_t<decltype(logdef::argument<T>::fields(std::declval<const T &>()))>;
    using list = field_list<made>;
    static constexpr format_type type = format_type::fields;
    static constexpr std::uint8_t kind = 0;
    struct slot {
        LOGDEF_MEMBER_ explicit slot(const T &value)
            : held(logdef::argument<T>::fields(value)), passed(held)
        {
        }
        slot(const slot &) = delete;
        LOGDEF_MEMBER_ void put(std::uint64_t *&to) const { passed.put(to); }
        made held;
        typename list::slots passed;
    };
};

template <logdef::name Name, class T>
struct passing<logdef::field_of<Name, T>> {
    using of = passing<std::remove_cv_t<T>>;
    static constexpr format_type type =
        of::type == format_type::fields ? format_type::none : of::type;
    static constexpr std::uint8_t kind = of::kind;
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
    requires((is_text<T>::value || std::same_as<T, logdef_bytes>) && !converted<T> && !decomposed<T>)
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

/* An argument, as the format is checked with it. */
struct format_arg {
    format_type type;
    const char *name;
    bool used;
    int first; /* the number of its value, or of its first one */
    int count; /* of its fields */
    const format_type *types;
    const char *const *names;
};

template <class T>
constexpr format_arg format_arg_of()
{
    if constexpr (passing<T>::type == format_type::fields) {
        using list = typename passing<T>::list;
        return {passing<T>::type, name_of<T>::text, false, 0, list::count, list::types, list::names};
    } else {
        return {passing<T>::type, name_of<T>::text, false, 0, 1, nullptr, nullptr};
    }
}

constexpr bool is_type_of_value(format_type type)
{
    return type != format_type::none && type != format_type::fields;
}

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
    bool has_fields = false; /* so that the numbers of values are not those of arguments */
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
        check_types();
        check_names();
        while (*at != 0 && fault == format_fault::none) {
            const char first = *at;
            put(*at++);
            if ((first == '{' || first == '}') && !take(first) &&
                (first == '}' || *at == 0 || !placeholder()))
                return void(fail(format_fault::brace));
        }
        for (int i = 0; i < count; i++)
            if (!args[i].used && *args[i].name == 0 && args[i].type != format_type::fields)
                fail(format_fault::many);
    }

    constexpr void check_types()
    {
        int values = 0;
        for (int i = 0; i < count; i++) {
            format_arg &arg = args[i];
            arg.first = values;
            values += arg.count;
            if (arg.type == format_type::none)
                fail(format_fault::argument);
            if (arg.type != format_type::fields)
                continue;
            has_fields = true;
            for (int field = 0; field < arg.count; field++) {
                if (!is_type_of_value(arg.types[field]))
                    fail(format_fault::argument);
                check_name(arg.names[field]);
                for (int other = 0; other < field; other++)
                    if (same(arg.names[field], arg.names[other], -1))
                        fail(format_fault::name);
            }
        }
        if (values > LOGDEF_MAX_ARGS)
            fail(format_fault::most);
    }

    constexpr void check_name(const char *name)
    {
        for (const char *c = name; *c != 0; c++)
            if (!starts_name(*c) && (c == name || !is_digit(*c)))
                fail(format_fault::name);
    }

    constexpr void check_names()
    {
        for (int i = 0; i < count; i++) {
            check_name(args[i].name);
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
        const char *const start = at;
        if (is_digit(*at)) {
            if (next > 0)
                fail(format_fault::mixed);
            numbered = true;
            if (*at == '0' && is_digit(at[1]))
                fail(format_fault::placeholder);
            index = number();
        } else if (starts_name(*at)) {
            while (starts_name(*at) || is_digit(*at))
                at++;
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
        if (args[index].type == format_type::fields)
            return &args[index];
        if (has_fields && !starts_name(*start))
            put_number(args[index].first);
        else
            for (const char *c = start; c != at; c++)
                put(*c);
        return &args[index];
    }

    constexpr void put_number(int n)
    {
        if (n > 9)
            put(static_cast<char>('0' + n / 10));
        put(static_cast<char>('0' + n % 10));
    }

    constexpr void put_text(const char *c)
    {
        while (*c != 0)
            put(*c++);
    }

    constexpr int number()
    {
        int n = 0;
        for (; is_digit(*at); at++)
            n = n > 99999 ? n : n * 10 + (*at - '0');
        return n;
    }

    /* Prints the fields where one placeholder stands for all; its brace is there already. */
    constexpr bool put_fields(const format_arg &arg)
    {
        if (*at != '}')
            return fail(*at == ':' ? format_fault::type : format_fault::placeholder);
        at++;
        length--;
        for (int field = 0; field < arg.count; field++) {
            if (field > 0)
                put(' ');
            put_text(arg.names[field]);
            put('=');
            put('{');
            put_number(arg.first + field);
            put_type(arg.types[field], ':');
            put('}');
        }
        return true;
    }

    /* The type of a placeholder that has none, where the value does not say it. */
    constexpr void put_type(format_type type, char colon)
    {
        if (type != format_type::pointer && type != format_type::short_real)
            return;
        if (colon != 0)
            put(colon);
        put(type == format_type::pointer ? 'p' : 'h');
    }

    /* What comes after a `{`. */
    constexpr bool placeholder()
    {
        const format_arg *const arg = argument();
        if (arg == nullptr)
            return false;
        if (arg->type == format_type::fields)
            return put_fields(*arg);
        char type = 0;
        bool colon = take(':'), exact = false;
        if (colon && !spec(*arg, type, exact))
            return false;
        if (type == 0 && !(arg->type == format_type::short_real && exact))
            put_type(arg->type, colon ? '\0' : ':');
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
            while (is_digit(*at))
                put(*at++);
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
        const bool is_real = arg.type == format_type::real || arg.type == format_type::short_real;
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
    static constexpr int args = sizeof...(Args);
    static constexpr int count = (0 + ... + format_arg_of<Args>().count);

    static constexpr format_checker check_into(char *out)
    {
        format_arg made[] = {format_arg_of<Args>()..., format_arg()};
        format_checker checker{Format::text(), made, args, out};
        checker.check();
        checker.args = nullptr;
        return checker;
    }

    static constexpr format_fault fault = check_into(nullptr).fault;

    /* The description, with its NULs; its length if there is nowhere to write it. */
    static constexpr std::size_t describe(char *out)
    {
        const format_arg of[] = {format_arg_of<Args>()..., format_arg()};
        format_checker to{"", nullptr, 0, out};
        int last = args;
        while (last > 0 && *of[last - 1].name == 0 && of[last - 1].type != format_type::fields)
            last--;
        to.put(0);
        to.put('f');
        for (int i = 0; i < last; i++)
            for (int field = 0; field < of[i].count; field++) {
                to.put(i == 0 && field == 0 ? ':' : ',');
                to.put_text(of[i].name);
                if (of[i].type != format_type::fields)
                    continue;
                if (*of[i].name != 0)
                    to.put('.');
                to.put_text(of[i].names[field]);
            }
        to.put(0);
        return to.length;
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

template <class T>
constexpr void put_kinds(std::uint8_t *&to)
{
    if constexpr (passing<T>::type == format_type::fields) {
        for (int field = 0; field < passing<T>::list::count; field++)
            *to++ = passing<T>::list::kinds[field];
    } else {
        *to++ = passing<T>::kind;
    }
}

template <class Format, class... Args>
struct kinds_of<checked<Format, format_args<Args...> *> *> {
    static constexpr int count = checked<Format, format_args<Args...> *>::count;
    struct array {
        std::uint8_t kinds[static_cast<std::size_t>(count) + 1];
    };
    static constexpr array make()
    {
        array filled = {};
        [[maybe_unused]] std::uint8_t *to = filled.kinds;
        (put_kinds<Args>(to), ...);
        return filled;
    }
    static constexpr array made = make();
    static constexpr const std::uint8_t *kinds = made.kinds;
};

/* Words that follow those of the arguments: none, or one. */
struct no_word {
    LOGDEF_MEMBER_ void put(std::uint64_t *&) const {}
};

struct last_word {
    std::uint64_t value;
    LOGDEF_MEMBER_ void put(std::uint64_t *&to) const { *to++ = value; }
};

template <class Slot>
LOGDEF_INLINE_ void put_slot(std::uint64_t *&to, const Slot &slot)
{
    if constexpr (requires { slot.word(); })
        *to++ = slot.word();
    else
        slot.put(to);
}

template <int Count, class Call, class Last, class... Slots>
LOGDEF_INLINE_ void emit_slots(Call to, const Last &last, const Slots &...slots)
{
    std::uint64_t words[static_cast<std::size_t>(Count) + 1];
    std::uint64_t *next = words;
    (put_slot(next, slots), ...);
    last.put(next);
    to.emit(words);
}

/* The slots live until the record is written. */
template <class Call, class... Args>
LOGDEF_INLINE_ void emit_values(Call to, const char *, const Args &...args)
{
    emit_slots<(0 + ... + format_arg_of<std::remove_cv_t<std::decay_t<Args>>>().count)>(
        to, no_word(), typename passing_of<Args>::slot(args)...);
}

template <class Call, class... Args>
LOGDEF_INLINE_ void emit_values_and(Call to, std::uint64_t last, const char *,
                                    const Args &...args)
{
    emit_slots<(0 + ... + format_arg_of<std::remove_cv_t<std::decay_t<Args>>>().count)>(
        to, last_word{last}, typename passing_of<Args>::slot(args)...);
}

/* What the compiler calls an enumerator, from where its own name begins; empty if it is a number. */
struct enum_name {
    const char *at;
    std::size_t length;
};

template <auto Value>
constexpr enum_name name_of_enumerator()
{
    const char *const function = __PRETTY_FUNCTION__;
    const char *end = function;
    while (*end != 0)
        end++;
    while (end > function && *end != ']')
        end--;
    const char *start = end;
    while (start > function && (starts_name(start[-1]) || is_digit(start[-1])))
        start--;
    const bool is_name = start < end && starts_name(*start) && start > function &&
                         (start[-1] == ':' || start[-1] == ' ' || start[-1] == '=');
    return is_name ? enum_name{start, static_cast<std::size_t>(end - start)} : enum_name{nullptr, 0};
}

template <class T>
struct enum_names {
    static constexpr long long min = logdef::enum_range<T>::min;
    static constexpr long long count = logdef::enum_range<T>::max - min + 1;
    static_assert(count > 0 && count <= 1024, "logdef: an enum_range has 1 to 1024 values");
    struct table {
        enum_name names[static_cast<std::size_t>(count)];
    };

    template <long long Value>
    static constexpr enum_name at()
    {
        using integer = std::underlying_type_t<T>;
        if constexpr (static_cast<long long>(static_cast<integer>(Value)) == Value &&
                      (Value >= 0 || std::is_signed_v<integer>))
            return name_of_enumerator<static_cast<T>(Value)>();
        else
            return {nullptr, 0};
    }

    template <std::size_t... At>
    static constexpr table make(std::index_sequence<At...>)
    {
        return {{at<min + static_cast<long long>(At)>()...}};
    }

    static constexpr table names = make(std::make_index_sequence<static_cast<std::size_t>(count)>());
};

} /* namespace */
} /* namespace logdef_cpp */

template <logdef::fixed_enum T>
static logdef::enum_text logdef::name_of(T value)
{
    using names = ::logdef_cpp::enum_names<T>;
    const auto number = static_cast<std::underlying_type_t<T>>(value);
    const bool is_negative = number < 0;
    const long long in_table = static_cast<long long>(number);
    if (is_negative == (in_table < 0) && in_table >= names::min &&
        in_table - names::min < names::count) {
        const ::logdef_cpp::enum_name &name =
            names::names.names[static_cast<std::size_t>(in_table - names::min)];
        if (name.at != nullptr)
            return enum_text(name.at, name.length);
    }
    return enum_text(is_negative, static_cast<unsigned long long>(in_table));
}
} /* extern "C++" */

#pragma GCC diagnostic pop

#endif /* LOGDEF_FORMAT_H */
