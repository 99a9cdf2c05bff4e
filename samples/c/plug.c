/* A library that comes and goes. NAME is different in each, and as long. */
#include <logdef.h>

void plug(void);

void plug(void)
{
    LOGDEF(INFO, "plug " NAME " %d", 1);
}
