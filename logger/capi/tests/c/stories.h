/* What programs of stories share, of which a test runs one by its name: argv[1] is the log's path, argv[2]
 * the name, argv[3] and on are the story's. */
#ifndef STORIES_H
#define STORIES_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *log_path;
static char **more;

/* Ends the program where a condition does not hold. */
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

struct story {
    const char *name;
    void (*run)(void);
};

/* What main returns. The last story has no name. */
static int run_story(const struct story *stories, int argc, char **argv)
{
    MUST(argc >= 3);
    log_path = argv[1];
    more = argv + 3;
    for (; stories->name != NULL; stories++)
        if (strcmp(argv[2], stories->name) == 0) {
            stories->run();
            return 0;
        }
    return 2;
}

#endif
