/* Contexts, compiled as C and as C++: context LOG SINK. */
#include <logdef.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static logdef_context connection;

static void helper(void)
{
    LOGDEF(INFO, "in a function");
}

static void *serve(void *number)
{
    LOGDEF(INFO, "not yet served");
    {
        LOGDEF_IN_CONTEXT(&connection);
        LOGDEF(INFO, "served by %d", *(const int *)number);
    }
    LOGDEF(INFO, "no longer served");
    return NULL;
}

static void nested(void)
{
    const bool on = true;
    LOGDEF_WITH("user", "ann", "shard", 7U, "rate", 1.5, "on", on, "nothing", (const char *)NULL);
    LOGDEF(INFO, "inside");
    helper();
    {
        LOGDEF_WITH("user", "bob");
        LOGDEF(INFO, "nested");
        LOGDEF_ONCE(INFO, "limited");
        LOGDEF(ERROR, "with a backtrace");
    }
    LOGDEF(INFO, "inside again");
}

static void returns(int early)
{
    LOGDEF_WITH("early", early);
    if (early)
        return;
    LOGDEF(INFO, "returns late");
}

int main(int argc, char **argv)
{
    logdef_options options = LOGDEF_OPTIONS;
    pthread_t threads[2];
    int numbers[2] = {0, 1};
    char text[4096];
    int i;

    (void)argc;
    options.sink = atoi(argv[2]);
    {
        LOGDEF_WITH("phase", "early");
        LOGDEF(INFO, "before the log is open");
    }
    if (logdef_open_with(argv[1], &options) != 0)
        return 1;
    LOGDEF(INFO, "outside");
    nested();
    LOGDEF(INFO, "outside");
    returns(1);
    returns(0);
    LOGDEF(INFO, "outside");

    LOGDEF_CONTEXT_INIT(&connection, NULL, "peer", "localhost", "id", -3);
    for (i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, serve, &numbers[i]) != 0)
            return 1;
    for (i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    {
        LOGDEF_WITH("long", text, "after", 1);
        LOGDEF(INFO, "with a long key");
        if (fork() == 0) {
            LOGDEF(INFO, "in the child");
            _exit(logdef_context_current() == NULL);
        }
        wait(&i);
        if (i != 0)
            return 2;
    }
    {
        LOGDEF_IN_CONTEXT(&connection);
        for (i = 0; i < 20000; i++)
            LOGDEF(INFO, "many %d", i);
        LOGDEF_IN_CONTEXT(NULL);
        LOGDEF(INFO, "outside");
    }
    return logdef_context_current() != NULL;
}
