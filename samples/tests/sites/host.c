/* A program that loads a library at run time; both log, also from one in the other.
 *
 *     host LOG LIBRARY */
#include <logdef.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int work(int n, void (*report)(int));

static inline __attribute__((always_inline)) void complain(int n)
{
    LOGDEF(ERROR, "%d is too many", n);
}

__attribute__((noinline)) static void report(int n)
{
    LOGDEF(INFO, "reported: %d", n);
    if (n > 2)
        complain(n);
}

static int compare(const void *a, const void *b)
{
    LOGDEF_BT(DEBUG, "%d or %d", *(const int *)a, *(const int *)b);
    return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
    int numbers[] = {3, 1};
    void *library;
    work *run;

    if (argc != 3 || logdef_open(argv[1]) != 0)
        return 2;
    logdef_set_level(LOGDEF_DEBUG);
    library = dlopen(argv[2], RTLD_NOW);
    if (library == NULL) {
        LOGDEF(FATAL, "no library: %s", dlerror());
        return 1;
    }
    *(void **)&run = dlsym(library, "work");
    LOGDEF(INFO, "%s has work", argv[0][0] != 0 ? "library" : "nothing");
    for (int i = 0; i < 4; i++)
        LOGDEF(DEBUG, "turn %d gives %d", i, run(i, report));
    qsort(numbers, 2, sizeof numbers[0], compare);
    LOGDEF(WARN, "done with %.2f", 0.5);
    logdef_close();
    return 0;
}
