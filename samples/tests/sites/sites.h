/* An inline function in a header: each unit that calls it has its site. */
#include <logdef.h>

static inline int in_header(int n)
{
    LOGDEF(DEBUG, "header %d", n); // DEBUG "header %d" (int) in in_header
    return n + 1;
}
