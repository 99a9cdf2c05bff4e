// The library that host.c loads.
#include <logdef.h>

#include <string>

namespace depot {

template <class T>
__attribute__((noinline)) int shelve(T thing, void (*report)(int))
{
    const std::string text = std::to_string(thing);
    LOGDEF(INFO, "shelves %s", text.c_str());
    report(static_cast<int>(thing) * 2);
    if (thing > 1)
        LOGDEF(ERROR, "%s does not fit", text.c_str());
    return static_cast<int>(text.size());
}

} // namespace depot

extern "C" __attribute__((__visibility__("default"))) int work(int n, void (*report)(int))
{
    return depot::shelve(n, report) + depot::shelve(n * 0.5, report);
}
