/* A sink of spdlog that writes to logdef: level, name of the logger, source place and text of each
   message, in the file when the call has returned. The pattern of the logger is not used: the
   reader shows times, threads and places, and filters by them.

       logdef_open("app.log");
       spdlog::set_default_logger(std::make_shared<spdlog::logger>(
           "app", std::make_shared<logdef_spdlog::sink>()));
       spdlog::warn("disk {} is full", "sda");

   A place needs the macros (SPDLOG_WARN and the others). Records are those of the calling thread: an
   asynchronous logger would lose in a crash what is still in its queue, and name its own thread. */
#pragma once

#include <spdlog/sinks/sink.h>
#include <spdlog/spdlog.h>

#include "logdef.h"

namespace logdef_spdlog {

class sink final : public spdlog::sinks::sink {
public:
    void log(const spdlog::details::log_msg &message) override
    {
        logdef_field name = {};
        name.name = "logger";
        name.type = LOGDEF_FIELD_TEXT;
        name.value.text = message.logger_name.data();
        name.length = message.logger_name.size();
        logdef_write(level_of(message.level), message.source.filename,
                     static_cast<uint32_t>(message.source.line), message.source.funcname,
                     message.payload.data(), message.payload.size(), &name,
                     message.logger_name.size() > 0 ? 1 : 0);
    }

    void flush() override {}
    void set_pattern(const std::string &) override {}
    void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

private:
    static int level_of(spdlog::level::level_enum level)
    {
        switch (level) {
        case spdlog::level::trace: return LOGDEF_TRACE;
        case spdlog::level::debug: return LOGDEF_DEBUG;
        case spdlog::level::info: return LOGDEF_INFO;
        case spdlog::level::warn: return LOGDEF_WARN;
        case spdlog::level::err: return LOGDEF_ERROR;
        default: return LOGDEF_FATAL;
        }
    }
};

} // namespace logdef_spdlog
