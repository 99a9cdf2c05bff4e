/* Calls that a filter in the environment, and then others, hold back. */
#define LOGDEF_MODULE "net"
#include <dlfcn.h>
#include <logdef.h>
#include <stdio.h>

static void all(int round)
{
    LOGDEF(DEBUG, "net debugs %d", round);
#undef LOGDEF_MODULE
#define LOGDEF_MODULE NULL
    LOGDEF(TRACE, "traces %d", round);
    LOGDEF(TRACE, "this line %d", round);
    logdef_log(LOGDEF_INFO, "wrapper %d", round);
}

int main(int argc, char **argv)
{
    void *plugin;
    void (*run)(int);

    if (argc != 2 || logdef_open(argv[1]) != 0)
        return 2;
    all(0);
    plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    *(void **)&run = dlsym(plugin, "filters_run");
    run(0);
    if (logdef_set_filter("warn,net=off") != 0 || logdef_set_filter("net=loud") != -1)
        return 4;
    all(1);
    run(1);
    if (logdef_set_filter("on") != 0)
        return 5;
    all(2);
    run(2);
    return 0;
}
