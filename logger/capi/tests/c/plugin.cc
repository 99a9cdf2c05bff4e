// A library that is loaded while the program runs, and logs from what the linker
// might share with others: an inline function, a template, a static object.
#include <logdef.h>

inline int in_inline(int i)
{
    LOGDEF(INFO, "plugin's inline %d", i);
    return i;
}

template <class T>
T in_template(T value)
{
    LOGDEF_ONCE(INFO, "plugin's template %d", static_cast<int>(value));
    return value;
}

namespace {

struct Object {
    Object()
    {
        LOGDEF(INFO, "plugin's constructor");
    }
    ~Object()
    {
        LOGDEF(INFO, "plugin's destructor");
    }
} object;

} // namespace

extern "C" void plugin_run(int round);

extern "C" void plugin_run(int round)
{
    LOGDEF(WARN, "plugin %d", in_inline(round) + in_template(0));
}
