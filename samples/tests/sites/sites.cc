// Log calls in all places that C++ has for them. Behind each stands how it is
// listed.
#include "sites.h"

#include <string>

template <class T>
struct Box {
    T value;
    T get() const
    {
        LOGDEF(INFO, "got it"); // INFO  "got it" () in get
        return value;
    }
};

template <class... Args>
int variadic(Args... args)
{
    LOGDEF(DEBUG, "of %zu", sizeof...(args)); // DEBUG "of %zu" (unsigned) in variadic
    return static_cast<int>(sizeof...(args));
}

inline int in_inline(int n)
{
    LOGDEF(WARN, "inline %d", n); // WARN  "inline %d" (int) in in_inline
    return n;
}

class Object {
public:
    Object() { LOGDEF(INFO, "built"); } // INFO  "built" () in Object
    ~Object() { LOGDEF(INFO, "gone"); } // INFO  "gone" () in ~Object
    virtual int method(const std::string &text)
    {
        LOGDEF_ONCE(ERROR, "method of %s", text.c_str()); // ERROR "method of %s" (string) in method, limited
        return 1;
    }
};

namespace {
Object global;
}

extern "C" __attribute__((__visibility__("default"))) int entry(int n)
{
    const auto lambda = [](int m) {
        LOGDEF(INFO, "lambda %d", m); // INFO  "lambda %d" (int) in operator()
        return m;
    };
    if (n > 100)
        LOGDEF(FATAL, "never reached %p", static_cast<void *>(&n)); // FATAL "never reached %p" (pointer) in entry
    int sum = lambda(n) + in_inline(n) + variadic(1, 2.0) + variadic() + in_header(n);
    sum += Box<int>{n}.get() + static_cast<int>(Box<double>{0.5}.get());
    return sum + global.method("text");
}

#ifndef SHARED
int main(int argc, char **)
{
    return entry(argc);
}
#endif
