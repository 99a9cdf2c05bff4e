/* What programs do to a log, and what a log must not do to them: one story for each
 * name in argv[2]. argv[1] is the log's path, argv[3] and on are the story's. */
#include <logdef.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *log_path;
static char **more;

#define MUST(condition)                                                          \
    do {                                                                         \
        if (!(condition)) {                                                      \
            char text[200];                                                      \
            int len = snprintf(text, sizeof text, "%s:%d: %s (errno %d)\n", __FILE__, \
                               __LINE__, #condition, errno);                     \
            if (len > 0 && write(2, text, (size_t)len) < 0) {                    \
            }                                                                    \
            _exit(1);                                                            \
        }                                                                        \
    } while (0)

/* 1 if a descriptor below 64 that was not open before leads to a log. */
static void no_low_descriptor_is_a_logs(void)
{
    for (int fd = 0; fd < 64; fd++) {
        char link[64], target[4096];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t len = readlink(link, target, sizeof target - 1);
        if (len > 0) {
            target[len] = 0;
            MUST(strstr(target, ".log") == NULL);
        }
    }
}

/* Started without descriptors 0, 1 and 2; prints all the same. */
static void prints(void)
{
    logdef_options options = LOGDEF_OPTIONS;
    options.sink = atoi(more[0]);
    options.file_size = strtoull(more[1], NULL, 10);
    MUST(logdef_open_with(log_path, &options) == 0);
    for (int i = 0; i < 2000; i++) {
        LOGDEF(INFO, "record %d", i);
        printf("hello %d\n", i);
        fprintf(stderr, "hello %d\n", i);
    }
    fflush(NULL);
    no_low_descriptor_is_a_logs();
    pid_t child = fork();
    if (child == 0) {
        for (int i = 2000; i < 2500; i++) {
            LOGDEF(INFO, "record %d", i);
            printf("hello %d\n", i);
        }
        fflush(NULL);
        no_low_descriptor_is_a_logs();
        _exit(0);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child && status == 0);
}

/* Closes everything before the log rotates. */
static void closes(void)
{
    logdef_options options = LOGDEF_OPTIONS;
    options.sink = LOGDEF_SINK_MAPPED;
    options.file_size = 1 << 17;
    MUST(logdef_open_with(log_path, &options) == 0);
    for (int i = 0; i < 20000; i++) {
        if (i % 1000 == 0)
            for (int fd = 0; fd < 1024; fd++)
                close(fd);
        LOGDEF(INFO, "record %d", i);
    }
    no_low_descriptor_is_a_logs();
}

/* Rotates more often than files are kept. */
static void rotates(void)
{
    logdef_options options = LOGDEF_OPTIONS;
    options.sink = atoi(more[0]);
    options.file_size = 1 << 17;
    options.files = 4;
    MUST(logdef_open_with(log_path, &options) == 0);
    for (int i = 0; i < 40000; i++)
        LOGDEF(INFO, "record %d", i);
}

/* Logs a thousand records when a line is read, and waits for another. */
static void waits(void)
{
    logdef_options options = LOGDEF_OPTIONS;
    options.sink = atoi(more[0]);
    options.file_size = strtoull(more[1], NULL, 10);
    options.files = strtoull(more[2], NULL, 10);
    MUST(logdef_open_with(log_path, &options) == 0);
    char line[80];
    for (int i = 0; fgets(line, sizeof line, stdin) != NULL; i++) {
        for (int j = 0; j < 1000; j++)
            LOGDEF(INFO, "record %d", 1000 * i + j);
        puts("done");
        fflush(stdout);
    }
}

/* One of many that start at once. */
static void starts(void)
{
    MUST(logdef_open(log_path) == 0);
    LOGDEF(INFO, "started %d", (int)getpid());
}

/* Opens, logs ten records, ends; prints errno if it cannot open. */
static void logs(void)
{
    logdef_options options = LOGDEF_OPTIONS;
    options.sink = atoi(more[0]);
    if (logdef_open_with(log_path, &options) != 0) {
        fprintf(stderr, "errno %d\n", errno);
        exit(3);
    }
    for (int i = 0; i < 10; i++)
        LOGDEF(INFO, "record %d", i);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*tell)(void);
    } stories[] = {
        {"prints", prints}, {"closes", closes}, {"rotates", rotates},
        {"waits", waits},   {"starts", starts}, {"logs", logs},
    };

    MUST(argc >= 3);
    log_path = argv[1];
    more = argv + 3;
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++)
        if (strcmp(argv[2], stories[i].name) == 0) {
            stories[i].tell();
            return 0;
        }
    return 2;
}
