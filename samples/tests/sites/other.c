/* Another unit that uses the header. */
#include "sites.h"

extern int other_unit(int n);

int other_unit(int n)
{
    LOGDEF(INFO, "other"); // INFO  "other" () in other_unit
    return in_header(n);
}
