/* A program that logs, and so does what it loads. */
#include <dlfcn.h>
#include <logdef.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int round;

    if (argc != 2 || logdef_open(argv[1]) != 0)
        return 2;
    LOGDEF(INFO, "host");
    for (round = 0; round < 3; round++) {
        void *plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
        void (*run)(int);

        if (plugin == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 3;
        }
        *(void **)&run = dlsym(plugin, "plugin_run");
        run(round);
        if (dlclose(plugin) != 0)
            return 4;
        if (dlopen(PLUGIN, RTLD_NOW | RTLD_NOLOAD) != NULL)
            return 5; /* It must go: nothing of ours may keep it. */
    }
    LOGDEF(INFO, "host again");
    return 0;
}
