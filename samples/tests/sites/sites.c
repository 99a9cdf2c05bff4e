/* Log calls in all places that C has for them. Behind each stands how it is
 * listed; a `?` where nothing calls it, so that whole-program optimization may leave it
 * out. */
#include "sites.h"

#include <stdio.h>

extern int other_unit(int n);

__attribute__((noinline)) static int plain(const char *text, unsigned long n, double d)
{
    LOGDEF(INFO, "%s has %lu, %.2f", text, n, d); // INFO  "%s has %lu, %.2f" (string, unsigned, double) in plain
    LOGDEF(INFO, "one"); LOGDEF(0x35, "line"); // INFO  "one" () in plain // INFO+5 "line" () in plain
    if (n > 100)
        LOGDEF(FATAL, "never reached, %Lf", 1.5L); // FATAL "never reached, %Lf" (long double) in plain
    return (int)n;
}

int uncalled(void *p)
{
    LOGDEF(WARN, "uncalled %p", p); // ? WARN  "uncalled %p" (pointer) in uncalled
    return 0;
}

#undef LOGDEF_MODULE
#define LOGDEF_MODULE "net.tcp"

static inline __attribute__((always_inline)) int inlined(int n)
{
    LOGDEF_BT(WARN, "inlined %d", n); // WARN  "inlined %d" (int) in inlined [net.tcp], backtrace
    return n;
}

__attribute__((__visibility__("default"))) int entry(int n)
{
    for (int i = 0; i < n; i++)
        LOGDEF_EVERY_N(4, TRACE, "turn %d", i); // TRACE "turn %d" (int) in entry [net.tcp], limited
    LOGDEF(ERROR, "wide %ls", L"text"); // ERROR "wide %ls" (wide string) in entry [net.tcp]
    return plain("text", (unsigned long)n, 0.5) + inlined(n) + inlined(n + 1) + in_header(n) + other_unit(n);
}

#ifndef SHARED
int main(int argc, char **argv)
{
    return argv[0] == NULL ? 1 : entry(argc);
}
#endif
