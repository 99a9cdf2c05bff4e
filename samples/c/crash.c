/* Logs a little and dies of a fault, for a log that another machine reads: samples/corpus/aarch64.

       crash LOG */
#include <logdef.h>

#include <pthread.h>
#include <stddef.h>

static int look_up(const int *table, int index)
{
    LOGDEF(DEBUG, "looks up entry %d", index);
    return table[index];
}

static int answer(const int *table, int index)
{
    int entry = look_up(table, index);
    LOGDEF(INFO, "entry %d is %d, %.2f of %s", index, entry, entry / 2.0, "all");
    return entry;
}

static void *work(void *table)
{
    pthread_setname_np(pthread_self(), "worker");
    answer(table, 1);
    answer(NULL, 0);
    return NULL;
}

int main(int argc, char **argv)
{
    static int table[] = {7, 11};
    logdef_options options = LOGDEF_OPTIONS;
    pthread_t worker;

    options.fatal_signals = 1;
    if (argc != 2 || logdef_open_with(argv[1], &options) != 0)
        return 1;
    LOGDEF(WARN, "%s has %zu entries and %ld at %p", "table", sizeof table / sizeof *table, -5000000000L, (void *)8);
    if (pthread_create(&worker, NULL, work, table) != 0)
        return 1;
    pthread_join(worker, NULL);
    return 0;
}
