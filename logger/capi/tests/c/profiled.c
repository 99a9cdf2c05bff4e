/* A program whose functions log themselves, compiled as C and as C++ with
 * -finstrument-functions: profiled LOG. */
#include <logdef.h>

#define NOT_ITSELF __attribute__((__no_instrument_function__))

static int on;

#ifdef __cplusplus
extern "C" {
#endif
NOT_ITSELF void __cyg_profile_func_enter(void *function, void *caller)
{
    if (on)
        LOGDEF_BEGIN(INFO, "%p from %p", function, caller);
}

NOT_ITSELF void __cyg_profile_func_exit(void *function, void *caller)
{
    if (on)
        LOGDEF_END(INFO, "%p from %p", function, caller);
}
#ifdef __cplusplus
}
#endif

static int inner(int n)
{
    LOGDEF(INFO, "inner %d", n);
    logdef_log(LOGDEF_INFO, "wrapped %d", n);
    return n + 1;
}

static int outer(int n)
{
    return inner(n) + inner(n + 1);
}

int main(int argc, char **argv)
{
    if (logdef_open(argv[1]) != 0)
        return 1;
    on = 1;
    argc = outer(argc);
    on = 0;
    return argc != 7;
}
