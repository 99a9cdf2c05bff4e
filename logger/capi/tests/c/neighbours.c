/* What a log meets in its own process: another version of the library, successors by exec,
 * and memory of others where windows were. argv[1] is the log's path, argv[2] the story,
 * argv[3] and on are the story's. */
#include <logdef.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char **all;
static const char *log_path;
static char **more;

#define MUST(condition)                                                          \
    do {                                                                         \
        if (!(condition)) {                                                      \
            perror(#condition);                                                  \
            _exit(1);                                                            \
        }                                                                        \
    } while (0)

/* Logs a thousand records, and becomes the next of three programs that do so. */
static void execs(void)
{
    logdef_options options = LOGDEF_OPTIONS;
    int stage = atoi(more[2]);

    options.sink = atoi(more[0]);
    options.file_size = strtoull(more[1], NULL, 10);
    MUST(logdef_open_with(log_path, &options) == 0);
    for (int i = 0; i < 1000; i++)
        LOGDEF(INFO, "%d", 1000 * stage + i);
    if (stage < 2) {
        more[2][0]++;
        execv("/proc/self/exe", all);
        MUST(!"exec");
    }
}

static int stop;

static void *keeps_logging(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        LOGDEF(DEBUG, "%d", -1);
    return unused;
}

/* Closes and opens its log again and again while four threads log. */
static void cycles(void)
{
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        MUST(pthread_create(&threads[i], NULL, keeps_logging, NULL) == 0);
    for (int i = 0; i < 300; i++) {
        MUST(logdef_open(log_path) == 0);
        LOGDEF(INFO, "%d", i);
        usleep((useconds_t)(i % 7 * 100));
        /* What calls of the log before met is no matter of this one's. */
        logdef_status status = LOGDEF_STATUS;
        MUST(logdef_state(&status) == 0 && status.error == 0);
        logdef_close();
        if (i < 299)
            MUST(unlink(log_path) == 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
}

/* A child for which no fork handler runs maps all it can where the windows of a closed
 * log were, and opens a log of its own. */
static void maps(void)
{
    size_t len = 1ul << 30;
    int status;

    MUST(logdef_open(log_path) == 0);
    LOGDEF(INFO, "%d", -1);
    logdef_close();
    MUST(unlink(log_path) == 0);
    pid_t child = _Fork();
    if (child == 0) {
        unsigned char *memory = mmap(NULL, len, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        MUST(memory != MAP_FAILED);
        for (size_t at = 0; at < len; at += 4096 * 16)
            memory[at] = (unsigned char)(at >> 16);
        MUST(logdef_open(log_path) == 0);
        for (int i = 0; i < 100000; i++)
            LOGDEF(INFO, "%d", i);
        for (size_t at = 0; at < len; at += 4096 * 16)
            MUST(memory[at] == (unsigned char)(at >> 16));
        _exit(0);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0);
}

/* Two libraries with a copy of the logger each, which open a path each. */
static void versions(void)
{
    void (*run[2])(int);
    int (*open_in[2])(const char *);

    for (int i = 0; i < 2; i++) {
        void *library = dlopen(more[2 * i], RTLD_NOW | RTLD_LOCAL);
        MUST(library);
        *(void **)&open_in[i] = dlsym(library, "copy_open");
        *(void **)&run[i] = dlsym(library, "copy_run");
        MUST(open_in[i] && run[i]);
        run[i](-1);
    }
    for (int i = 0; i < 2; i++)
        MUST(open_in[i](more[2 * i + 1]) == 0);
    for (int number = 0; number < 500; number++)
        for (int i = 0; i < 2; i++)
            run[i](number);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } stories[] = {{"execs", execs}, {"cycles", cycles}, {"maps", maps}, {"versions", versions}};

    MUST(argc >= 3);
    all = argv;
    log_path = argv[1];
    more = argv + 3;
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++)
        if (strcmp(argv[2], stories[i].name) == 0) {
            stories[i].run();
            return 0;
        }
    return 2;
}
