/* A program with a copy of the logger in it, or with the shared one, and the
 * libraries that it is given, which have copies of their own. */
#include <dlfcn.h>
#include <errno.h>
#include <logdef.h>
#include <stdio.h>
#include <stdlib.h>

static void at_exit(void)
{
    LOGDEF(INFO, "program at exit");
}

static void *find(void *library, const char *name)
{
    void *found = dlsym(library, name);

    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    return found;
}

int main(int argc, char **argv)
{
    int (*open_in)(const char *);
    void (*run_in)(int);
    void (*set_level_in)(int);
    void *libraries[8];
    int i;

    if (argc < 3 || argc > 9)
        return 2;
    atexit(at_exit);
    LOGDEF(INFO, "program before");
    for (i = 2; i < argc; i++) {
        libraries[i - 2] = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (libraries[i - 2] == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 3;
        }
    }
    *(void **)&open_in = find(libraries[0], "copy_open");
    *(void **)&set_level_in = find(libraries[0], "copy_set_level");
    if (open_in(argv[1]) != 0)
        return 4;
    if (logdef_open(argv[1]) == 0 || errno != EBUSY)
        return 5;
    LOGDEF(INFO, "program");
    for (i = 2; i < argc; i++) {
        *(void **)&run_in = find(libraries[i - 2], "copy_run");
        run_in(i - 2);
    }
    logdef_set_level(LOGDEF_WARN);
    for (i = 2; i < argc; i++) {
        *(void **)&run_in = find(libraries[i - 2], "copy_run");
        run_in(10 + i - 2);
    }
    LOGDEF(INFO, "program is not to say this");
    set_level_in(LOGDEF_INFO);
    LOGDEF(INFO, "program again");
    for (i = 2; i < argc; i++)
        dlclose(libraries[i - 2]);
    return 0;
}
