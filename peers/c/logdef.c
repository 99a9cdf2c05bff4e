/* logdef, from C. */
#include "peer.h"

#include <logdef.h>
#include <stdio.h>
#include <stdlib.h>

void peer_open(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/log", directory);
    if (logdef_open(path) != 0)
        abort();
}

void peer_flush(void) {}

WORKLOADS(LOGDEF(INFO, "Logging int: %d, int: %d, double: %f", a, b, c),
          LOGDEF(INFO, "Logging int: %d, int: %d, string: %s", a, b, c))
