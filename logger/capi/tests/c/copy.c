/* A library that logs, built with the shared library or with a copy of its own. */
#include <logdef.h>
#include <pthread.h>

int copy_open(const char *path);
void copy_run(int number);
void copy_set_level(int level);

__attribute__((constructor)) static void begin(void)
{
    LOGDEF(INFO, COPY " begins");
}

__attribute__((destructor)) static void end(void)
{
    LOGDEF(INFO, COPY " ends");
}

int copy_open(const char *path)
{
    return logdef_open(path);
}

void copy_set_level(int level)
{
    logdef_set_level(level);
}

static void *in_thread(void *number)
{
    LOGDEF(INFO, COPY " in a thread %d", *(int *)number);
    return NULL;
}

void copy_run(int number)
{
    pthread_t thread;

    LOGDEF(INFO, COPY " %d", number);
    LOGDEF(DEBUG, COPY " in detail %s", "and at length");
    logdef_log(LOGDEF_WARN, COPY " by a wrapper %d", number);
    if (pthread_create(&thread, NULL, in_thread, &number) == 0)
        pthread_join(thread, NULL);
}
