/* Blocks with contexts that are left without their end: left LOG SINK. */
#include <logdef.h>

#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf outside;
static pthread_key_t key;
static volatile int jumps;

/* Uses the stack on which contexts stood. */
__attribute__((__noinline__)) static void overwrite(void)
{
    volatile unsigned char bytes[16384];
    size_t at;
    for (at = 0; at < sizeof bytes; at++)
        bytes[at] = (unsigned char)(0x41 + bytes[at / 2] % 2);
}

__attribute__((__noinline__)) static void jump(void)
{
    LOGDEF_WITH("jump", jumps);
    LOGDEF(INFO, "before the jump");
    longjmp(outside, 1);
}

__attribute__((__noinline__)) static void enter(void)
{
    LOGDEF_WITH("entered", 1);
    LOGDEF(INFO, "entered again");
}

static void thread_ends(void *value)
{
    overwrite();
    LOGDEF(INFO, "at the end of the thread");
    pthread_setspecific(key, NULL);
    (void)value;
}

__attribute__((__noinline__)) static void end(void)
{
    LOGDEF_WITH("thread", "one");
    LOGDEF(INFO, "before the end");
    pthread_exit(NULL);
}

static void *ends(void *argument)
{
    pthread_setspecific(key, argument);
    end();
    return NULL;
}

int main(int argc, char **argv)
{
    logdef_options options = LOGDEF_OPTIONS;
    pthread_t thread;

    (void)argc;
    options.sink = atoi(argv[2]);
    if (logdef_open_with(argv[1], &options) != 0)
        return 1;
    for (jumps = 0; jumps < 3; jumps++)
        if (setjmp(outside) == 0)
            jump();
    overwrite();
    LOGDEF(INFO, "after the jumps");
    enter();
    if (pthread_key_create(&key, thread_ends) != 0 || pthread_create(&thread, NULL, ends, &key) != 0)
        return 1;
    return pthread_join(thread, NULL);
}
