// What log calls of C++ cost, beside each other: each kind makes its calls in turn, again and again,
// and the fastest of its turns counts.
//
//     costs LOG                  nanoseconds a call of every kind
//     costs LOG KIND CALLS       that many calls of one kind, for a tool that counts instructions
//
// BENCHMARKS.md has the command that builds it. The log is rotated and two of its files are kept.
#include <logdef.h>
#include <logdef_format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <time.h>

namespace {

constexpr int TURNS = 40;
constexpr long CALLS = 200000;

// What a compiler may not know while it compiles the calls.
volatile int port = 8080;
volatile double ms = 2.5;
const char *volatile host = "example.org";

void integer(long i)
{
    LOGDEF(INFO, "accepted %ld", i);
}
void integer_kv(long i)
{
    LOGDEF_KV(INFO, "accepted", "i", i);
}
void integer_f(long i)
{
    LOGDEF_F(INFO, "accepted {}", i);
}
void three(long i)
{
    LOGDEF(INFO, "accepted %ld at %d in %f ms", i, port, ms);
}
void three_kv(long i)
{
    LOGDEF_KV(INFO, "accepted", "i", i, "port", port, "ms", ms);
}
void three_f(long i)
{
    LOGDEF_F(INFO, "accepted {} at {} in {} ms", i, int{port}, double{ms});
}
void text(long i)
{
    LOGDEF(INFO, "accepted %ld at %s:%d", i, host, port);
}
void text_kv(long i)
{
    LOGDEF_KV(INFO, "accepted", "i", i, "host", host, "port", port);
}
void text_f(long i)
{
    const char *const named = host;
    LOGDEF_F(INFO, "accepted {} at {}:{}", i, named, int{port});
}
void view(long i)
{
    const std::string_view named(host, 11);
    LOGDEF(INFO, "accepted %ld at %s:%d", i, named, port);
}
void view_f(long i)
{
    const std::string_view named(host, 11);
    LOGDEF_F(INFO, "accepted {} at {}:{}", i, named, int{port});
}

const struct {
    const char *name;
    void (*call)(long);
    bool in_context;
} KINDS[] = {
    {"integer", integer, false},   {"integer-kv", integer_kv, false}, {"integer-f", integer_f, false},
    {"context", integer, true},    {"three", three, false},           {"three-kv", three_kv, false},
    {"three-f", three_f, false},   {"text", text, false},             {"text-kv", text_kv, false},
    {"text-f", text_f, false},     {"view", view, false},             {"view-f", view_f, false},
};

long now()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

// The loop that tools count.
__attribute__((noinline)) void calls_of(void (*call)(long), long calls)
{
    for (long i = 0; i < calls; i++)
        call(i);
}

void turn(void (*call)(long), bool in_context, long calls)
{
    if (in_context) {
        LOGDEF_WITH("conn", 7, "peer", "example.org");
        calls_of(call, calls);
    } else {
        calls_of(call, calls);
    }
}

} // namespace

int main(int argc, char **argv)
{
    logdef_options options = LOGDEF_OPTIONS;
    options.sink = LOGDEF_SINK_MAPPED;
    options.file_size = 64 << 20;
    options.files = 2;
    if ((argc != 2 && argc != 4) || logdef_open_with(argv[1], &options) != 0) {
        std::fprintf(stderr, "usage: costs LOG [KIND CALLS]\n");
        return 1;
    }
    if (argc == 4) {
        for (const auto &kind : KINDS)
            if (std::strcmp(kind.name, argv[2]) == 0) {
                turn(kind.call, kind.in_context, std::atol(argv[3]));
                return 0;
            }
        return 2;
    }
    constexpr std::size_t COUNT = sizeof KINDS / sizeof *KINDS;
    long least[COUNT];
    for (long &ns : least)
        ns = -1;
    for (int i = 0; i < TURNS; i++)
        for (std::size_t kind = 0; kind < COUNT; kind++) {
            const long start = now();
            turn(KINDS[kind].call, KINDS[kind].in_context, CALLS);
            const long ns = now() - start;
            if (least[kind] < 0 || ns < least[kind])
                least[kind] = ns;
        }
    for (std::size_t kind = 0; kind < COUNT; kind++)
        std::printf("%-12s %6.1f ns\n", KINDS[kind].name,
                    static_cast<double>(least[kind]) / static_cast<double>(CALLS));
    return 0;
}
