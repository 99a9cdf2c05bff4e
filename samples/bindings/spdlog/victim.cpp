/* Logs by spdlog from two threads and kills itself: victim LOG */
#include "logdef_sink.h"

#include <csignal>
#include <thread>

int main(int argc, char **argv)
{
    if (argc != 2 || logdef_open(argv[1]) != 0)
        return 1;
    auto sink = std::make_shared<logdef_spdlog::sink>();
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("shop", sink));
    spdlog::set_level(spdlog::level::debug);
    auto serve = [](int first) {
        for (int number = first; number < first + 500; number++)
            SPDLOG_INFO("order {} of {}", number, "anna");
    };
    std::thread one(serve, 0), other(serve, 500);
    one.join();
    other.join();
    spdlog::trace("this is off");
    spdlog::critical("{} without a place", "last words");
    std::raise(SIGKILL);
}
