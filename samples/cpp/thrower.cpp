// Logs while exceptions fly: past calls, out of their arguments, through spans and
// destructors that log, and over many stack frames.
//
//     thrower LOG THREADS ROUNDS
#include <logdef.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

struct Refused {
    int round;
};

[[gnu::noinline]] static int refuse(int round)
{
    if (round >= 0)
        throw Refused{round};
    return round;
}

// Logs on its way out, with an exception of its own that is caught inside.
class Witness {
public:
    Witness(int round, int depth) : round_(round), depth_(depth) {}
    ~Witness()
    {
        LOGDEF(DEBUG, "unwound %d %d", round_, depth_);
        try {
            LOGDEF(FATAL, "never %d %d", depth_, refuse(round_));
        } catch (const Refused &) {
            LOGDEF(DEBUG, "witnessed %d %d", round_, depth_);
        }
    }

private:
    int round_;
    int depth_;
};

static void between(int round)
{
    const std::string text(static_cast<std::size_t>(round % 100), 'x');
    LOGDEF(INFO, "before %d %s", round, text.c_str());
    refuse(round);
    LOGDEF(FATAL, "never %d", round);
}

static int log_and_refuse(int round)
{
    LOGDEF(INFO, "argument %d", round);
    return refuse(round);
}

// One kind of call after another whose arguments cannot be had.
static void in_arguments(int round)
{
    switch (round % 6) {
    case 0:
        LOGDEF(INFO, "never %d", refuse(round));
        break;
    case 1:
        LOGDEF(INFO, "never %d %s %d", round, std::string(100, 'y').c_str(), log_and_refuse(round));
        break;
    case 2:
        LOGDEF_BT(INFO, "never %d", log_and_refuse(round));
        break;
    case 3: {
        LOGDEF_SPAN(INFO, "never %d", log_and_refuse(round));
        break;
    }
    case 4:
        LOGDEF_COUNTER(INFO, "never %d", log_and_refuse(round));
        break;
    default:
        LOGDEF_ASYNC_BEGIN(7, INFO, "never %d", log_and_refuse(round));
    }
}

static void in_spans(int round)
{
    LOGDEF_SPAN(INFO, "outer %d", round);
    {
        LOGDEF_SPAN(INFO, "short %d", round);
    }
    LOGDEF_SPAN(WARN, "inner %d %s", round, "with text");
    for (int turn = 0;; turn++) {
        LOGDEF_SPAN(DEBUG, "turn %d", turn);
        if (turn == 2)
            refuse(round);
    }
}

[[gnu::noinline]] static void deep(int round, int depth)
{
    const Witness witness(round, depth);
    LOGDEF(TRACE, "down %d %d", round, depth);
    try {
        if (depth == 0)
            refuse(round);
        else
            deep(round, depth - 1);
    } catch (const Refused &refused) {
        if (depth % 3 == 1)
            LOGDEF(INFO, "passed on %d %d", refused.round, depth);
        throw;
    }
}

static void work(int rounds)
{
    void (*const ways[])(int) = {between, in_arguments, in_spans, [](int round) { deep(round, 7); }};
    for (int round = 0; round < rounds; round++) {
        int way = 0;
        for (const auto go : ways) {
            try {
                go(round);
                LOGDEF(FATAL, "never %d", round);
            } catch (const Refused &refused) {
                if (round % 16 == 0)
                    LOGDEF(ERROR, "caught %d %d", refused.round, way);
                else
                    LOGDEF(WARN, "caught %d %d", refused.round, way);
            }
            way++;
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        std::fprintf(stderr, "usage: thrower LOG THREADS ROUNDS\n");
        return 2;
    }
    if (logdef_open(argv[1]) != 0) {
        std::perror(argv[1]);
        return 1;
    }
    std::vector<std::thread> threads;
    for (int i = std::atoi(argv[2]); i > 0; i--)
        threads.emplace_back(work, std::atoi(argv[3]));
    for (auto &thread : threads)
        thread.join();
    return 0;
}
