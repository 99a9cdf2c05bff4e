/* Sends what the test of the C client expects: c_client DIRECTORY. */
#include "logdef_serve.h"

#include <stdlib.h>

int main(int argc, char **argv) {
    struct logdef_serve log;
    if (argc != 2 || logdef_serve_open(&log, argv[1]) != 0)
        return 1;
    const struct logdef_serve_arg args[] = {
        logdef_serve_i64("signed", -5),
        logdef_serve_u64("unsigned", UINT64_MAX),
        logdef_serve_f64("floating", 2.5),
        logdef_serve_text("text", "gr\xc3\xbc\xc3\x9f"),
        logdef_serve_text("empty", ""),
        logdef_serve_text("latin1", "gr\xfc\xdf"),
        logdef_serve_text("surrogate", "\xed\xa0\x80"),
        logdef_serve_bool("yes", 7),
        logdef_serve_bool("no", 0),
        logdef_serve_u64("", 1),
    };
    int failed = logdef_serve_write(&log, LOGDEF_SERVE_WARN, "all types", args,
                                    sizeof args / sizeof *args);
    char *large = (char *)malloc(40001);
    memset(large, 'x', 40000);
    large[40000] = 0;
    const struct logdef_serve_arg many[] = {
        logdef_serve_text("large", large),
        logdef_serve_text(large, "name"),
        logdef_serve_text("fits", large + 10000),
    };
    failed |= logdef_serve_write(&log, 0x2e, "too large", many, 3);
    failed |= log.cut != 2;
    log.dropped = 3;
    failed |= logdef_serve_write(&log, LOGDEF_SERVE_INFO, "after a loss", NULL, 0);
    struct logdef_serve_arg numbers[30];
    for (int number = 0; number < 30; number++)
        numbers[number] = logdef_serve_u64("n", (uint64_t)number);
    failed |= logdef_serve_write(&log, LOGDEF_SERVE_INFO, large, numbers, 30);
    failed |= log.cut != 3;
    logdef_serve_close(&log);
    failed |= logdef_serve_write(&log, LOGDEF_SERVE_INFO, "nobody", NULL, 0) != -1;
    free(large);
    return failed || log.dropped != 1;
}
