/* A shared library that logs. It knows nothing of the program that uses it:
   its call sites, its strings and its preamble in the log are its own. */
#include "compress.h"

#include <logdef.h>

size_t compress(const char *data, size_t size, char *out, size_t room)
{
    size_t used = 0;
    for (size_t at = 0; at < size;) {
        size_t run = 1;
        while (at + run < size && data[at + run] == data[at] && run < 127)
            run++;
        if (used + 2 > room) {
            LOGDEF(ERROR, "no room: %zu of %zu bytes compressed into %zu", at, size, room);
            return 0;
        }
        out[used++] = (char)run;
        out[used++] = data[at];
        at += run;
    }
    LOGDEF(DEBUG, "compressed %zu to %zu bytes, ratio %.2f", size, used,
           used ? (double)size / (double)used : 0.0);
    return used;
}
