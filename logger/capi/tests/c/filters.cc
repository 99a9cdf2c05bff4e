// A library that is loaded after the filter was set: a module, and a file by its
// name.
#include <logdef.h>

extern "C" void filters_run(int round);

extern "C" void filters_run(int round)
{
    LOGDEF(DEBUG, "plugin debugs %d", round);
    LOGDEF(WARN, "plugin warns %d", round);
#undef LOGDEF_MODULE
#define LOGDEF_MODULE "net.plugin"
    LOGDEF(DEBUG, "plugin's net debugs %d", round);
}
