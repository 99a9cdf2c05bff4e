/* Logs in the middle of everything that can happen to a process. Each mode is
   one storm; at its end the program says how many calls of each kind there
   were, and a reader of the log finds as many records.

       storm LOG MODE COUNT [PLUGIN PLUGIN] */
#define _GNU_SOURCE
#include <logdef.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 8 };

/* Calls that have returned, by format; in memory that children share. */
static struct {
    atomic_ulong work, handler, child, lone;
} *calls;

static const char *log_path;
static atomic_int stop;

#define CHECK(condition)                                                                      \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                   \
            _exit(9);                                                                         \
        }                                                                                     \
    } while (0)

static void work(void)
{
    LOGDEF(INFO, "work %lu of %s", atomic_load(&calls->work), "a worker");
    atomic_fetch_add(&calls->work, 1);
}

static void *worker(void *unused)
{
    while (!atomic_load(&stop)) {
        for (int i = 0; i < 10; i++) {
            void *memory = malloc(100);
            work();
            free(memory);
        }
        usleep(200);
    }
    return unused;
}

static void on_timer(int signal)
{
    LOGDEF(WARN, "handler %d", signal);
    atomic_fetch_add(&calls->handler, 1);
}

static void handle(int flags, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
}

/* A signal every 200 microseconds, or none. */
static void set_timer(int microseconds)
{
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void start(pthread_t *threads, int count, void *(*main)(void *))
{
    for (int i = 0; i < count; i++)
        CHECK(pthread_create(&threads[i], NULL, main, NULL) == 0);
}

static void join(pthread_t *threads, int count)
{
    for (int i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void wait_for(pid_t child)
{
    int status;
    pid_t ended;
    do
        ended = waitpid(child, &status, 0);
    while (ended < 0);
    if (status != 0)
        fprintf(stderr, "a child ended with %x\n", (unsigned)status);
    CHECK(status == 0);
}

/* One thread forks, the others log, and a handler does in all of them. The child
   finds its alarm clock ringing if it hangs. */
static void forks(int count)
{
    pthread_t threads[WORKERS];
    start(threads, WORKERS, worker);
    handle(SA_RESTART, on_timer);
    set_timer(200);
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            signal(SIGALRM, SIG_DFL);
            alarm(20);
            for (int j = 0; j < 3; j++) {
                LOGDEF(INFO, "child %d", j);
                atomic_fetch_add(&calls->child, 1);
            }
            _exit(0);
        }
        wait_for(child);
    }
    set_timer(0);
    atomic_store(&stop, 1);
    join(threads, WORKERS);
}

/* A handler that forks, in the middle of a call of its thread: both sides
   continue there. */
static volatile pid_t forked = -1;

static void on_timer_fork(int signal)
{
    (void)signal;
    if (forked == 0)
        return;
    forked = fork();
    if (forked == 0)
        alarm(20);
}

static void fork_in_handler(int count)
{
    handle(SA_RESTART, on_timer_fork);
    for (int i = 0; i < count; i++) {
        forked = -1;
        struct itimerval timer = {{0, 0}, {0, 50 + i % 100}};
        CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
        while (forked == -1)
            LOGDEF(INFO, "lone %s", "call that may be forked in");
        if (forked == 0) {
            for (int j = 0; j < 3; j++) {
                LOGDEF(INFO, "child %d", j);
                atomic_fetch_add(&calls->child, 1);
            }
            _exit(0);
        }
        wait_for(forked);
    }
}

/* A child of vfork is its parent for a while; one of posix_spawn is another
   program. */
static void spawns(int count)
{
    pthread_t threads[WORKERS];
    char *const argv[] = {"true", NULL};
    char *const environment[] = {NULL};
    start(threads, WORKERS, worker);
    for (int i = 0; i < count; i++) {
        pid_t child = vfork();
        CHECK(child >= 0);
        if (child == 0) {
            LOGDEF(INFO, "lone %d of vfork", 1);
            atomic_fetch_add(&calls->lone, 1);
            _exit(0);
        }
        wait_for(child);
        CHECK(posix_spawnp(&child, "true", NULL, NULL, argv, environment) == 0);
        wait_for(child);
        work();
    }
    atomic_store(&stop, 1);
    join(threads, WORKERS);
}

/* A daemon forks twice and closes whatever it has; the numbers go to another
   file, which must stay as it is. */
static void daemons(int count)
{
    work();
    for (int process = 0; process < 2; process++) {
        pid_t child = process == 0 ? fork() : 0;
        if (child > 0) {
            wait_for(child);
            continue;
        }
        if (process == 0) {
            child = fork();
            if (child > 0) {
                wait_for(child);
                _exit(0);
            }
        }
        LOGDEF(INFO, "lone %d before", process);
        atomic_fetch_add(&calls->lone, 1);
        char path[4096];
        int decoys[64];
        snprintf(path, sizeof path, "%s.decoy%d", log_path, process);
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
        for (int i = 0; i < 64; i++)
            decoys[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        for (int i = 0; i < count; i++) {
            LOGDEF(INFO, "child %d after %s", i, "everything was closed");
            atomic_fetch_add(&calls->child, 1);
        }
        /* Whatever it says, it is not said of another file. */
        if (logdef_sync() == 0)
            atomic_fetch_add(&calls->handler, 1);
        struct stat stat;
        CHECK(fstat(decoys[0], &stat) == 0 && stat.st_size == 0);
        unlink(path);
        if (process == 0)
            _exit(0);
    }
}

static void *cancelled(void *how)
{
    int type = how ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED;
    pthread_setcanceltype(type, NULL);
    for (;;) {
        LOGDEF(INFO, "lone %s", "call of a thread that is cancelled");
        if (!how) {
            logdef_sync();
            pthread_testcancel();
        }
    }
    return how;
}

static void cancels(int count, void *how)
{
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        void *result;
        CHECK(pthread_create(&thread, NULL, cancelled, how) == 0);
        usleep((useconds_t)(100 + i * 37 % 1000));
        CHECK(pthread_cancel(thread) == 0);
        CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
        work();
    }
}

static sigjmp_buf out;

static void on_timer_jump(int signal)
{
    siglongjmp(out, signal);
}

/* Calls some way down the stack. */
static void lone(int depth)
{
    volatile char room[200];
    room[0] = (char)depth;
    if (depth > 0)
        lone(depth - 1);
    while (!atomic_load(&stop)) {
        LOGDEF(INFO, "lone %s", "call that may be jumped out of");
        LOGDEF(ERROR, "lone %s", "call with a backtrace");
    }
    room[1] = room[0];
}

static long pages(void)
{
    long size;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm && fscanf(statm, "%ld", &size) == 1);
    fclose(statm);
    return size;
}

/* Each jump leaves a call behind that never returns. */
static void jumps(int count)
{
    volatile int jumped = 0;
    volatile long before = 0;
    handle(0, on_timer_jump);
    if (sigsetjmp(out, 1))
        jumped++;
    if (jumped == count / 10)
        before = pages();
    if (jumped < count) {
        /* Long enough for a thread to get a chunk. */
        set_timer(3000 + jumped % 100);
        lone(jumped % 8);
    }
    set_timer(0);
    /* Windows come and go: there may be fewer than before. */
    long grown = pages() - before;
    printf("grown %ld\n", grown > 0 ? grown * 4 : 0);
    for (int i = 0; i < 1000; i++)
        work();
    CHECK(logdef_sync() == 0);
}

/* Handlers on a stack of `size` bytes and a page below it that may not be
   touched. */
static void alternate(size_t size)
{
    size_t page = 4096;
    char *memory = mmap(NULL, page + size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && mprotect(memory, page, PROT_NONE) == 0);
    stack_t stack = {.ss_sp = memory + page, .ss_size = size};
    CHECK(sigaltstack(&stack, NULL) == 0);
    handle(SA_RESTART | SA_ONSTACK, on_timer);
    set_timer(200);
    while (atomic_load(&calls->handler) < 500)
        work();
    set_timer(0);
}

static void *once(void *unused)
{
    work();
    return unused;
}

static pthread_barrier_t all_here;

static void *once_together(void *unused)
{
    work();
    pthread_barrier_wait(&all_here);
    return unused;
}

/* Threads one after another, and all at once. */
static void threads(int count)
{
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    for (int i = 0; i < count; i++) {
        start(threads, 1, once);
        join(threads, 1);
    }
    pthread_barrier_init(&all_here, NULL, (unsigned)count);
    start(threads, count, once_together);
    join(threads, count);
    free(threads);
}

/* Two libraries, one after the other in the same place. */
static void plugins(int count, char **paths)
{
    for (int i = 0; i < count; i++) {
        void *library = dlopen(paths[i % 2], RTLD_NOW | RTLD_LOCAL);
        CHECK(library);
        void (*plug)(void);
        *(void **)&plug = dlsym(library, "plug");
        CHECK(plug);
        if (i < 2)
            printf("address %p\n", *(void **)&plug);
        plug();
        CHECK(dlclose(library) == 0);
    }
}

int main(int argc, char **argv)
{
    CHECK(argc >= 4);
    calls = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(calls != MAP_FAILED);
    log_path = argv[1];
    int count = atoi(argv[3]);
    logdef_options options = LOGDEF_OPTIONS;
    options.sink = LOGDEF_SINK_MAPPED;
    CHECK(logdef_open_with(argv[1], &options) == 0);
    const char *mode = argv[2];
    if (strcmp(mode, "forks") == 0)
        forks(count);
    else if (strcmp(mode, "fork-in-handler") == 0)
        fork_in_handler(count);
    else if (strcmp(mode, "spawns") == 0)
        spawns(count);
    else if (strcmp(mode, "daemons") == 0)
        daemons(count);
    else if (strcmp(mode, "cancels") == 0)
        cancels(count, NULL);
    else if (strcmp(mode, "asynchronous-cancels") == 0)
        cancels(count, &calls);
    else if (strcmp(mode, "jumps") == 0)
        jumps(count);
    else if (strcmp(mode, "alternate") == 0)
        alternate((size_t)count);
    else if (strcmp(mode, "threads") == 0)
        threads(count);
    else if (strcmp(mode, "plugins") == 0)
        plugins(count, argv + 4);
    else
        return 2;
    printf("work %lu\nhandler %lu\nchild %lu\nlone %lu\n", atomic_load(&calls->work),
           atomic_load(&calls->handler), atomic_load(&calls->child), atomic_load(&calls->lone));
    return 0;
}
