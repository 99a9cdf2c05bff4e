/* What programs do to a log, and what a log must not do to them: one story for each
 * name in argv[2]. argv[1] is the log's path, argv[3] and on are the story's. */
#include <logdef.h>

#include "stories.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

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

/* Files that are followed by others when they are old. */
static void ages(void)
{
    logdef_options options = LOGDEF_OPTIONS;
    logdef_status status = LOGDEF_STATUS;
    char first[4096];

    options.sink = atoi(more[0]);
    options.file_age = 1;
    options.files = 2;
    options.helper = 1;
    MUST(logdef_open_with(log_path, &options) == 0);
    MUST(logdef_state(&status) == 0 && status.helper == status.is_mapped);
    int i = 0;
    for (int file = 0; file < 3; file++) {
        MUST(logdef_state(&status) == 0);
        strcpy(first, status.path);
        while (strcmp(first, status.path) == 0) {
            LOGDEF(INFO, "record %d", i++);
            usleep(20000);
            MUST(logdef_state(&status) == 0);
        }
    }
    LOGDEF(INFO, "record %d", i++);
    printf("%d\n", i);
}

/* A bound, in KiB, on all logs of the directory. */
static void folds(void)
{
    logdef_options options = LOGDEF_OPTIONS;

    options.sink = atoi(more[0]);
    options.file_size = 128 << 10;
    options.folder_bytes = strtoull(more[1], NULL, 10) << 10;
    MUST(logdef_open_with(log_path, &options) == 0);
    for (int i = 0; i < 20000; i++)
        LOGDEF(INFO, "record %d", i);
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

static char sixteen_thousand[16001];

static void *writes(void *number)
{
    for (long i = 0; i < 500; i++)
        LOGDEF(INFO, "%ld %s", (long)(intptr_t)number * 500 + i, sixteen_thousand);
    return NULL;
}

/* Four threads write records that no pipe takes at once. */
static void crowds(void)
{
    pthread_t threads[4];

    memset(sixteen_thousand, 'x', sizeof sixteen_thousand - 1);
    MUST(logdef_open(log_path) == 0);
    for (long i = 0; i < 4; i++)
        MUST(pthread_create(&threads[i], NULL, writes, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < 4; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
}

static volatile sig_atomic_t logs_in_handler;
static volatile long in_handler;

static void on_alarm(int signal)
{
    (void)signal;
    if (logs_in_handler)
        LOGDEF(WARN, "%ld", in_handler++);
}

/* A signal every 200 microseconds while a slow pipe is written to. */
static void interrupts(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    logdef_status status = LOGDEF_STATUS;

    logs_in_handler = atoi(more[0]);
    memset(sixteen_thousand, 'x', sizeof sixteen_thousand - 1);
    MUST(logdef_open(log_path) == 0);
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
    writes(NULL);
    MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
    /* The last one has the count of what handlers dropped until then. */
    LOGDEF(INFO, "%d %s", 500, "");
    MUST(logdef_state(&status) == 0 && status.unreported == 0);
    fprintf(stderr, "%ld %llu", in_handler, (unsigned long long)status.dropped);
}

/* Keeps a bound on what it logs. */
static void records(void)
{
    logdef_options options = LOGDEF_OPTIONS;
    options.sink = atoi(more[0]);
    options.flight_recorder = 1 << 20;
    MUST(logdef_open_with(log_path, &options) == 0);
    for (int i = 0; i < 100000; i++)
        LOGDEF(INFO, "%d", i);
}

/* Its log is removed while it is open. */
static void survives(void)
{
    logdef_options options = LOGDEF_OPTIONS;
    options.sink = LOGDEF_SINK_APPEND;
    MUST(logdef_open_with(log_path, &options) == 0);
    LOGDEF(INFO, "%d", -1);
    MUST(unlink(log_path) == 0);
    for (int i = 0; i < 10; i++)
        LOGDEF(INFO, "%d", i);
    MUST(logdef_sync() == 0);
}

/* Asks for files to be kept, and not for files. */
static void keeps(void)
{
    logdef_options options = LOGDEF_OPTIONS;
    options.files = 4;
    MUST(logdef_open_with(log_path, &options) == -1 && errno == EINVAL);
}

static void *opens(void *unused)
{
    (void)unused;
    MUST(logdef_open(log_path) == 0);
    return NULL;
}

/* The log of a forked child that wants one of its own. */
static void opens_own(void)
{
    char path[4096];

    snprintf(path, sizeof path, "%s.child.log", log_path);
    MUST(logdef_open(path) == 0);
}

/* What a child exits with that logged to its parent's log. */
#define TO_PARENTS 10

/* A child closes the log and opens one of its own; or it just logs, and opens one afterwards where it has none. */
static int child_logs(int just_logs)
{
    logdef_status status = LOGDEF_STATUS;

    if (!just_logs) {
        logdef_close();
        opens_own();
    }
    MUST(logdef_state(&status) == 0);
    for (int i = 0; i < 10; i++)
        LOGDEF(INFO, "%d", 10 * just_logs + i);
    if (just_logs && status.is_open)
        return TO_PARENTS;
    if (just_logs) {
        /* Kept, and not lost. */
        MUST(logdef_state(&status) == 0 && !status.is_open);
        MUST(status.unreported == 0 && status.dropped == 0);
        opens_own();
    }
    MUST(logdef_state(&status) == 0 && status.is_open);
    MUST(status.unreported == 0 && status.dropped == 0);
    return 0;
}

/* Forks some microseconds after another thread began to open the log, or before that if they are negative, or once
 * the log is open if they are a million: the child can log all the same. Prints whether it did to its parent's log. */
static void forks(void)
{
    pthread_t opener;
    int delay = atoi(more[0]), status;
    pid_t child = -1;

    if (delay < 0 && (child = fork()) == 0)
        _exit(child_logs(atoi(more[1])));
    MUST(pthread_create(&opener, NULL, opens, NULL) == 0);
    if (delay == 1000000)
        MUST(pthread_join(opener, NULL) == 0);
    else if (delay >= 0)
        usleep((useconds_t)delay);
    if (delay >= 0 && (child = fork()) == 0)
        _exit(child_logs(atoi(more[1])));
    MUST(waitpid(child, &status, 0) == child && WIFEXITED(status));
    MUST(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == TO_PARENTS);
    if (delay != 1000000)
        MUST(pthread_join(opener, NULL) == 0);
    for (int i = 0; i < 10; i++)
        LOGDEF(INFO, "%d", i);
    printf("%d\n", WEXITSTATUS(status) == TO_PARENTS);
}

static void on_hangup(int signal)
{
    (void)signal;
    MUST(logdef_reopen() == 0);
}

static void *keeps_logging(void *number)
{
    for (long i = 0; i < 100000; i++)
        LOGDEF(INFO, "%ld", (long)(intptr_t)number * 100000 + i);
    return NULL;
}

/* Its log is renamed three times while two threads write, as logrotate does. */
static void reopens(void)
{
    struct sigaction action = {.sa_handler = on_hangup};
    logdef_options options = LOGDEF_OPTIONS;
    pthread_t threads[2];
    char aside[4096];

    MUST(logdef_reopen() == -1 && errno == ENOTCONN);
    options.sink = atoi(more[0]);
    MUST(logdef_open_with(log_path, &options) == 0);
    MUST(sigaction(SIGHUP, &action, NULL) == 0);
    for (long i = 0; i < 2; i++)
        MUST(pthread_create(&threads[i], NULL, keeps_logging, (void *)(intptr_t)i) == 0);
    for (int i = 1; i <= 3; i++) {
        snprintf(aside, sizeof aside, "%s-%d", log_path, i);
        MUST(rename(log_path, aside) == 0);
        /* A thread that does what was asked before may have made it. */
        MUST(close(open(log_path, O_CREAT | O_RDWR, 0600)) == 0);
        MUST(raise(SIGHUP) == 0);
        LOGDEF(INFO, "%d", 200000 + 2 * i);
        LOGDEF(INFO, "%d", 200001 + 2 * i);
    }
    for (int i = 0; i < 2; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    LOGDEF(INFO, "%d", 200000);
    LOGDEF(INFO, "%d", 200001);
    MUST(access(log_path, F_OK) == 0);
}

/* Asks what the log is doing. */
static void asks(void)
{
    logdef_options options = LOGDEF_OPTIONS;
    logdef_status status = LOGDEF_STATUS;
    char path[4200];

    LOGDEF(INFO, "before %d", 1);
    logdef_log(LOGDEF_INFO, "before %d", 1);
    MUST(logdef_state(&status) == 0 && !status.is_open && status.unreported == 0);
    MUST(close(open(log_path, O_CREAT | O_WRONLY, 0600)) == 0);
    FILE *older = fopen(log_path, "w");
    MUST(older && fputs("text", older) >= 0 && fclose(older) == 0);
    options.sink = LOGDEF_SINK_MAPPED;
    MUST(logdef_open_with(log_path, &options) == 0);
    LOGDEF(INFO, "after %d", 2);
    MUST(logdef_state(&status) == 0);
    MUST(status.is_open && status.is_mapped && status.error == 0);
    MUST(status.unreported == 0 && status.file_bytes > 0);
    MUST(strcmp(status.path, log_path) == 0);
    snprintf(path, sizeof path, "%s.000001", log_path);
    MUST(strcmp(status.previous, path) == 0);
    MUST(status.existing == LOGDEF_EXISTING_RENAMED);
    status.struct_size = 3;
    MUST(logdef_state(&status) == -1 && errno == EINVAL);
}

/* The descriptors are used up while the log rotates; it ends then, or some calls after there are
 * some again. Prints how many calls were dropped. */
static void lacks(void)
{
    logdef_options options = LOGDEF_OPTIONS;
    logdef_status status = LOGDEF_STATUS;
    struct rlimit usual, none;
    int ends = atoi(more[2]);

    options.sink = atoi(more[0]);
    options.file_size = 1 << 17;
    options.files = strtoull(more[1], NULL, 10);
    MUST(logdef_open_with(log_path, &options) == 0);
    MUST(getrlimit(RLIMIT_NOFILE, &usual) == 0);
    none = usual;
    none.rlim_cur = 3;
    for (int i = 0; i < 40000; i++) {
        if (i == 10000 || i == ends)
            MUST(setrlimit(RLIMIT_NOFILE, i == ends ? &usual : &none) == 0);
        LOGDEF(INFO, "%d", i);
    }
    MUST(logdef_state(&status) == 0);
    printf("%llu\n", (unsigned long long)status.dropped);
    if (ends >= 0)
        logdef_close();
}

/* What the state of its log says: that nothing is wrong, that a file may not grow, and that it may again. */
static void suffers(void)
{
    logdef_options options = LOGDEF_OPTIONS;
    logdef_status status = LOGDEF_STATUS;
    struct rlimit limit;
    int i, tries = 3000;

    MUST(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    MUST(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = 1 << 17;
    MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    options.sink = atoi(more[0]);
    MUST(logdef_open_with(log_path, &options) == 0);
    LOGDEF(INFO, "%d", 0);
    MUST(logdef_state(&status) == 0);
    MUST(status.error == 0 && status.dropped == 0 && status.unreported == 0);
    for (i = 1; i < 10000; i++)
        LOGDEF(INFO, "%d", i);
    MUST(logdef_state(&status) == 0);
    MUST(status.error == EFBIG && status.dropped > 5000);
    MUST(status.unreported > 0 && status.unreported <= status.dropped);
    limit.rlim_cur = limit.rlim_max;
    MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    do {
        MUST(tries-- > 0);
        usleep(20000);
        LOGDEF(INFO, "%d", i++);
        MUST(logdef_state(&status) == 0);
    } while (status.error != 0);
    MUST(status.unreported == 0);
    printf("%d %llu\n", i, (unsigned long long)status.dropped);
    logdef_close();
}

/* Prints why the sink is the one it is. */
static void says_why(void)
{
    logdef_options options = LOGDEF_OPTIONS;
    logdef_status status = LOGDEF_STATUS;

    options.sink = atoi(more[0]);
    MUST(logdef_open_with(log_path, &options) == 0);
    LOGDEF(INFO, "%d", 0);
    MUST(logdef_state(&status) == 0);
    printf("%d %s\n", status.is_mapped, status.why);
}

/* Logs before the log is open, which it may never be. */
static void early(void)
{
    logdef_options options = LOGDEF_OPTIONS;

    options.level = LOGDEF_INFO;
    MUST(logdef_enabled(LOGDEF_INFO) == 1);
    LOGDEF(INFO, "early %d", 0);
    logdef_log(LOGDEF_WARN, "early %d", 1);
    LOGDEF(DEBUG, "too low %d", -1);
    if (atoi(more[0]) == 0)
        return;
    pid_t child = fork();
    if (child > 0)
        _exit(waitpid(child, NULL, 0) != child);
    MUST(logdef_open_with(log_path, &options) == 0);
    LOGDEF(INFO, "late %d", 2);
    logdef_close();
    /* A mirror shows it all the same. */
    MUST(logdef_enabled(LOGDEF_INFO) == (getenv("LOGDEF_STDERR") != NULL));
    LOGDEF(INFO, "closed %d", 3);
}

/* Shows a record, in colours if standard error is a terminal that has them. */
static void shows(void)
{
    logdef_options options = LOGDEF_OPTIONS;

    options.mirror_level = LOGDEF_INFO;
    MUST(logdef_open_with(log_path, &options) == 0);
    LOGDEF(INFO, "shown %d", 0);
}

/* Closes standard error, and opens its database, which takes the number. */
static void mirrors(void)
{
    MUST(logdef_open(log_path) == 0);
    LOGDEF(INFO, "shown %d", 1);
    close(2);
    int database = open(more[0], O_RDWR | O_CREAT, 0600);
    MUST(database == 2);
    LOGDEF(INFO, "not shown %d", 2);
}

int main(int argc, char **argv)
{
    static const struct story stories[] = {
        {"prints", prints},     {"closes", closes},         {"rotates", rotates},
        {"waits", waits},       {"starts", starts},         {"logs", logs},
        {"crowds", crowds},     {"interrupts", interrupts}, {"records", records},
        {"reopens", reopens},   {"asks", asks},             {"forks", forks},
        {"mirrors", mirrors},   {"survives", survives},     {"keeps", keeps},
        {"early", early},       {"ages", ages},             {"folds", folds},
        {"lacks", lacks},       {"suffers", suffers},       {"says_why", says_why},
        {"shows", shows},       {NULL, NULL},
    };

    return run_story(stories, argc, argv);
}
