/* A sink of glog that writes to logdef: severity, source place and text of each message, in the
   file when the call has returned.

       logdef_open("app.log");
       logdef_glog::sink sink;
       google::AddLogSink(&sink);
       LOG(WARNING) << "disk " << name << " is full";

   The level of VLOG is not handed to sinks: such messages are INFO. */
#pragma once

#include <glog/logging.h>

#include "logdef.h"

namespace logdef_glog {

class sink final : public google::LogSink {
public:
    using google::LogSink::send;

    void send(google::LogSeverity severity, const char *full_filename, const char *, int line,
              const google::LogMessageTime &, const char *message, std::size_t length) override
    {
        static const int levels[] = {LOGDEF_INFO, LOGDEF_WARN, LOGDEF_ERROR, LOGDEF_FATAL};
        const int level = severity >= 0 && severity < 4 ? levels[severity] : LOGDEF_FATAL;
        logdef_write(level, full_filename, static_cast<uint32_t>(line), nullptr, message, length,
                     nullptr, 0);
    }
};

} // namespace logdef_glog
