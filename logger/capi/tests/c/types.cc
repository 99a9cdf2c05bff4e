/* Types of the program's own in calls of std::format's formats, and the other forms of these calls:
 * types LOG. */
#include <logdef_stream.h>

#include <iterator>
#include <string>
#include <string_view>

enum class Color { red, green = 5, blue, far = 1000 };
enum Plain { A, B };
enum Small : signed char { none = -1, some };
enum class Wide : unsigned long long { least, most = ~0ull };
namespace {
enum class Hidden { secret = 3 };
}
enum class Far { away = 100 };
template <>
struct logdef::enum_range<Far> {
    static constexpr int min = 90, max = 110;
};
enum class Own { value };
template <>
struct logdef::argument<Own> {
    static int of(Own own) { return static_cast<int>(own) + 40; }
};

struct Point {
    int x;
    float y;
    const char *why;
};
template <>
struct logdef::argument<Point> {
    static auto fields(const Point &p)
    {
        return logdef::fields(logdef::field<"x">(p.x), logdef::field<"y">(p.y),
                              logdef::field<"why">(p.why));
    }
};

struct Peer {
    std::string host;
    int port;
};
template <>
struct logdef::argument<Peer> {
    static auto of(const Peer &peer)
    {
        logdef::text<16> text;
        text.append(peer.host.data(), peer.host.size());
        text.print(":%d", peer.port);
        return text;
    }
};

/* A range of char that is logged as its owner wants. */
struct Secret : std::string {};
template <>
struct logdef::argument<Secret> {
    static std::string_view of(const Secret &) { return "***"; }
};

/* All that a field may be. */
struct Session {
    std::string name;
    Peer peer;
    Color color;
    const void *at;
    bool is_open;
};
template <>
struct logdef::argument<Session> {
    static auto fields(const Session &s)
    {
        return logdef::fields(logdef::field<"name">(s.name), logdef::field<"peer">(s.peer),
                              logdef::field<"color">(s.color), logdef::field<"at">(s.at),
                              logdef::field<"is_open">(s.is_open),
                              logdef::field<"dump">(logdef::hex(s.name.data(), 1)));
    }
};

struct Streamed {
    int value;
};
static int streamed_times;
static std::ostream &operator<<(std::ostream &stream, const Streamed &streamed)
{
    streamed_times++;
    return stream << "Streamed(" << streamed.value << ')';
}

int main(int argc, char **argv)
{
    const Point p = {1, 2.5f, "because"};
    const Session session = {"s", {"example.org", 443}, Color::blue, nullptr, true};

    if (argc < 2 || logdef_open(argv[1]) != 0)
        return 1;
    LOGDEF_F(INFO, "{} {:>6} {}", Color::red, Color::green, static_cast<Color>(9));
    LOGDEF_F(INFO, "{} {} {} {}", B, none, Hidden::secret, Color::far);
    LOGDEF_F(INFO, "{} {} {}", Wide::least, Far::away, Own::value);
    LOGDEF_F(INFO, "to {}", p);
    LOGDEF_F(INFO, "{} to {:>{}}", p, "right", 6);
    LOGDEF_F(INFO, "{2:04} to {1} by {0}", 5, p, 6);
    LOGDEF_F(INFO, "{by} to {to}", logdef::arg<"to">(p), logdef::arg<"by">(7));
    LOGDEF_F(INFO, "moved", logdef::arg<"to">(p));
    LOGDEF_F(INFO, "moved", p);
    LOGDEF_F(INFO, "{}", session);
    LOGDEF_F(INFO, "{:>12} {}", Peer{"a", 1}, Peer{"a.long.example.org", 1});
    LOGDEF_F(INFO, "{} {}", Secret{{"password"}}, 1.25L);
    LOGDEF_F(INFO, "{} {:>12}", Streamed{1}, logdef::arg<"key">(Streamed{2}));
    LOGDEF_F_ONCE(INFO, "once {}", p);
    for (int i = 0; i < 3; i++)
        LOGDEF_F_EVERY_N(2, INFO, "every {}", i);
    for (int i = 0; i < 3; i++)
        LOGDEF_F_FIRST_N(1, INFO, "first {}", i);
    LOGDEF_F_AT_MOST_EVERY(1000000, INFO, "at most {}", p);
    LOGDEF_F_BT(INFO, "bt {}", 1);
    LOGDEF_F_COUNTER(INFO, "pool: used {}, free {}", 1, 2);
    LOGDEF_F_BEGIN(INFO, "begin {}", 1);
    LOGDEF_F_END(INFO, "end {}", 2);
    {
        LOGDEF_F_SPAN(INFO, "span {}", 1);
    }
    LOGDEF_F_ASYNC_BEGIN(9, INFO, "async {}", 1);
    LOGDEF_F_ASYNC_END(9, INFO, "end {}", 1);
    LOGDEF(INFO, "%s %s %s", logdef::name_of(Color::blue), logdef::name_of(Wide::most),
           logdef::streamed(Streamed{3}));
    LOGDEF_KV(INFO, "kv", "color", logdef::name_of(static_cast<Color>(-12)));
    logdef_set_level(LOGDEF_WARN);
    const int times = streamed_times;
    LOGDEF_F(INFO, "not written {}", Streamed{4});
    return streamed_times - times;
}
