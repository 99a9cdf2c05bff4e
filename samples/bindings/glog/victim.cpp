/* Logs by glog, and ends by LOG(FATAL): victim LOG */
#include "logdef_sink.h"

int main(int argc, char **argv)
{
    if (argc != 2 || logdef_open(argv[1]) != 0)
        return 1;
    google::InitGoogleLogging(argv[0]);
    FLAGS_logtostderr = true;
    FLAGS_minloglevel = google::GLOG_INFO;
    logdef_glog::sink sink;
    google::AddLogSink(&sink);
    for (int number = 0; number < 100; number++)
        LOG(INFO) << "order " << number << " of " << "anna";
    LOG(WARNING) << "bytes " << '\xff' << std::string("and a NUL\0 inside", 17);
    LOG(FATAL) << "last words";
}
