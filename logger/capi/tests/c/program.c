/* A program as a newcomer writes it, compiled as C and as C++. Each call stands on
 * a line of its own, which the test looks up. */
#include <logdef.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((__format__(__printf__, 2, 3))) static void wrapper(int level, const char *format,
                                                                  ...)
{
    va_list args;

    va_start(args, format);
    logdef_vlog(level, format, args);
    va_end(args);
}

static int never(void)
{
    abort();
}

int main(int argc, char **argv)
{
    logdef_options options = LOGDEF_OPTIONS;
    char text[] = "text that changes";
    char built[32];
    int i;

    if (argc < 2)
        return 2;
    if (argc > 2)
        options.sink = atoi(argv[2]);
    LOGDEF(WARN, "before the log is open");
    if (logdef_open(NULL) == 0 || errno != EFAULT)
        return 3;
    if (logdef_open("/nonexistent/directory/log") == 0 || errno != ENOENT)
        return 4;
    options.level = 1000;
    if (logdef_open_with(argv[1], &options) == 0 || errno != EINVAL)
        return 5;
    options.level = LOGDEF_DEBUG;
    options.backtrace_level = LOGDEF_FATAL;
    if (logdef_open_with(argv[1], &options) != 0)
        return 6;
    if (logdef_open(argv[1]) == 0 || errno != EBUSY)
        return 7;

    LOGDEF(INFO, "accepted %s:%d in %.3f ms", "localhost", 8080, 2.5);
    LOGDEF(ERROR, "no arguments");
    LOGDEF(TRACE, "below the level %d", never());
    LOGDEF(DEBUG, "%s", text);
    memset(text, 'x', sizeof text - 1);
    LOGDEF(INFO, "%.4s %s %p", text, (const char *)NULL, (void *)NULL);
    LOGDEF(INFO, "%Lf %c %ls", 1.5L, 'c', L"w\u00e4ide");
    LOGDEF_BT(INFO, "with a backtrace");
    LOGDEF(FATAL, "with a backtrace by its level");
    for (i = 0; i < 7; i++)
        LOGDEF_EVERY_N(3, INFO, "every third: %d", i);
    for (i = 0; i < 7; i++)
        LOGDEF_ONCE(WARN, "once: %d", i);
    for (i = 0; i < 3; i++)
        LOGDEF_AT_MOST_EVERY(1000000, INFO, "seldom: %d", i);
    logdef_log(LOGDEF_WARN, "a wrapper's %d %s %Lf", 1, "two", 3.0L);
    snprintf(built, sizeof built, "built %s", "at run time %d");
    wrapper(LOGDEF_INFO, built, 4);
    wrapper(LOGDEF_TRACE, "below the level");

    if (logdef_set_filter("what=ever=this") == 0 || errno != EINVAL)
        return 8;
    if (logdef_set_filter("error,program.c=warn") != 0)
        return 9;
    LOGDEF(INFO, "filtered %d", never());
    LOGDEF(WARN, "not filtered");
    if (logdef_enabled(LOGDEF_INFO) || !logdef_enabled(LOGDEF_WARN))
        return 10;
    if (logdef_sync() != 0)
        return 11;
    logdef_close();
    LOGDEF(WARN, "after the log was closed");
    return strcmp(logdef_version(), "") == 0;
}
