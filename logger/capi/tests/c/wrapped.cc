// Some headers of C programs open extern "C" around all that they include.
extern "C" {
#include <logdef.h>
}

int wrapped(int i);

int wrapped(int i)
{
    LOGDEF(INFO, "wrapped %d", i);
    return i;
}
