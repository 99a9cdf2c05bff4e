// glog with its default buffering.
#include "peer.h"

#include <glog/logging.h>

void peer_open(const char *directory)
{
    FLAGS_log_dir = directory;
    FLAGS_logtostderr = false;
    FLAGS_stderrthreshold = google::GLOG_FATAL;
    google::InitGoogleLogging("peer");
}

void peer_flush(void)
{
    google::FlushLogFiles(google::GLOG_INFO);
}

WORKLOADS(LOG(INFO) << "Logging int: " << a << ", int: " << b << ", double: " << c,
          LOG(INFO) << "Logging int: " << a << ", int: " << b << ", string: " << c)
