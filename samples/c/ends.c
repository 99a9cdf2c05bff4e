/* Logs, and ends in one of several ways, for core dumps.

       ends LOG null|nowhere|abort|handler|wait

   Each record is acknowledged on standard output when its call has returned. */
#define _GNU_SOURCE
#include <logdef.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*volatile nowhere)(void);
static int *volatile null;

static void acknowledge(int record)
{
    printf("%d\n", record);
    fflush(stdout);
}

static void write_through(int *where)
{
    *where = 1;
    LOGDEF(FATAL, "not reached");
}

static void call_nowhere(void)
{
    nowhere();
    LOGDEF(FATAL, "not reached");
}

static void give_up(void)
{
    LOGDEF(ERROR, "giving up");
    acknowledge(1000);
    abort();
}

static void on_fault(int signal)
{
    LOGDEF(ERROR, "signal %d", signal);
    acknowledge(1000);
    abort();
}

/* On a stack of its own, as after an overflow. */
static void fault_under_handler(void)
{
    stack_t stack = {0};
    struct sigaction action = {0};

    stack.ss_size = 1 << 16;
    stack.ss_sp = malloc(stack.ss_size);
    sigaltstack(&stack, NULL);
    action.sa_handler = on_fault;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGSEGV, &action, NULL);
    write_through(null);
}

static void *idle(void *unused)
{
    pthread_setname_np(pthread_self(), "idle");
    LOGDEF(INFO, "idle");
    pthread_barrier_wait(unused);
    for (;;)
        pause();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_barrier_t barrier;
    pthread_t thread;
    int record;

    if (argc != 3 || logdef_open(argv[1]) != 0)
        return 1;
    pthread_barrier_init(&barrier, NULL, 2);
    if (pthread_create(&thread, NULL, idle, &barrier) != 0)
        return 1;
    pthread_barrier_wait(&barrier);
    for (record = 0; record < 100; record++) {
        LOGDEF(INFO, "request %d of %s", record, argv[2]);
        acknowledge(record);
    }
    if (strcmp(argv[2], "null") == 0)
        write_through(null);
    if (strcmp(argv[2], "nowhere") == 0)
        call_nowhere();
    if (strcmp(argv[2], "abort") == 0)
        give_up();
    if (strcmp(argv[2], "handler") == 0)
        fault_under_handler();
    for (;;)
        pause();
}
