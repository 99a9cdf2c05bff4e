// spdlog with its default pattern; -DFLUSH flushes each record, -DASYNC queues
// them for a thread.
#include "peer.h"

#include <spdlog/async.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

static std::shared_ptr<spdlog::logger> logger;

void peer_open(const char *directory)
{
    std::string path = std::string(directory) + "/log";
#ifdef ASYNC
    spdlog::init_thread_pool(8192, 1);
    logger = spdlog::basic_logger_mt<spdlog::async_factory>("peer", path);
#else
    logger = spdlog::basic_logger_mt("peer", path);
#endif
#ifdef FLUSH
    logger->flush_on(spdlog::level::info);
#endif
}

void peer_flush(void)
{
    logger->flush();
#ifdef ASYNC
    spdlog::drop_all();
    logger.reset();
    spdlog::shutdown(); // waits for the queue
#endif
}

WORKLOADS(logger->info("Logging int: {}, int: {}, double: {:f}", a, b, c),
          logger->info("Logging int: {}, int: {}, string: {}", a, b, c))
