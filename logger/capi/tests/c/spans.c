/* Spans and counters, compiled as C and as C++. */
#include <logdef.h>

#include <pthread.h>
#include <stddef.h>

static int evaluated;

static int value(int i)
{
    evaluated++;
    return i;
}

static void *other_thread(void *id)
{
    LOGDEF_ASYNC_END(*(const uint64_t *)id, INFO, "status %d", 200);
    return NULL;
}

#ifdef __cplusplus
static void scoped(int depth)
{
    LOGDEF_SPAN(INFO, "level %d", depth);
    if (depth > 0)
        scoped(depth - 1);
}

template <class T>
static T generic(T i)
{
    LOGDEF_SPAN(WARN, "generic %d", static_cast<int>(i));
    LOGDEF_SPAN(DEBUG, "second of its block");
    return i;
}

static void of_a_level(int level)
{
    LOGDEF_SPAN(level, "of a level");
    level = LOGDEF_FATAL;
}
#endif

int main(int argc, char **argv)
{
    const uint64_t id = 0xfeedfacecafe;
    pthread_t thread;

    if (argc < 2 || logdef_open(argv[1]) != 0)
        return 1;
    LOGDEF_BEGIN(INFO, "load %s", "a.csv");
    LOGDEF_COUNTER(DEBUG, "queue depth %d", value(3));
    LOGDEF_END(WARN, "%d rows", 7);
    LOGDEF_ASYNC_BEGIN(id, INFO, "GET %s", "/");
    if (pthread_create(&thread, NULL, other_thread, (void *)(size_t)&id) != 0)
        return 2;
    pthread_join(thread, NULL);
    LOGDEF_ASYNC_BEGIN(0, TRACE, "number nought");
    logdef_set_level(LOGDEF_INFO);
    LOGDEF_COUNTER(DEBUG, "never %d", value(4));
    if (evaluated != 1)
        return 3;
    LOGDEF_COUNTER(INFO, "disk: read %d, written %.1f", value(1), 2.5);
#ifdef __cplusplus
    scoped(1);
    generic(5);
    of_a_level(LOGDEF_WARN);
    of_a_level(LOGDEF_DEBUG);
    {
        LOGDEF_SPAN(DEBUG, "held back");
        logdef_set_level(LOGDEF_TRACE);
    }
#endif
    return 0;
}
