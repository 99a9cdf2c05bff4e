// Calls of each kind that C++ has, each in a function of its own: as a program, or with PLUGIN as a
// library that the program loads. The last store keeps a call from being the function's jump.
#include <logdef.h>
#include <logdef_format.h>

#include <dlfcn.h>
#include <string>

#define ALONE extern "C" __attribute__((noinline)) void

static volatile int returned;

#ifdef PLUGIN

ALONE by_plugin()
{
    LOGDEF_BT(INFO, "plugin %d", 1);
    returned = 1;
}

ALONE by_plugins_text()
{
    logdef_log(LOGDEF_ERROR, "text %d", 1);
    returned = 1;
}

ALONE plug()
{
    by_plugin();
    by_plugins_text();
    returned = 1;
}

#else

ALONE by_macro(const std::string &text)
{
    LOGDEF_BT(INFO, "macro %d %s", 1, text);
    returned = 1;
}

ALONE by_level(int level)
{
    LOGDEF_AT(level, "level %d", 1);
    returned = 1;
}

ALONE by_pairs()
{
    LOGDEF_KV(ERROR, "pairs", "key", 1);
    returned = 1;
}

ALONE by_braces(const std::string &text)
{
    LOGDEF_F(ERROR, "braces {} {:>5}", text, 2.5);
    returned = 1;
}

ALONE by_text()
{
    logdef_log(LOGDEF_ERROR, "text %d", 1);
    returned = 1;
}

ALONE by_write()
{
    logdef_write(LOGDEF_ERROR, "heads.cpp", 1, "by_write", "text", 4, nullptr, 0);
    returned = 1;
}

int main(int, char **argv)
{
    if (logdef_open(argv[1]) != 0)
        return 1;
    by_macro("text");
    by_level(LOGDEF_ERROR);
    by_pairs();
    by_braces("text");
    by_text();
    by_write();
    void *plugin = dlopen(argv[2], RTLD_NOW);
    void (*plug)() = plugin ? reinterpret_cast<void (*)()>(dlsym(plugin, "plug")) : nullptr;
    if (!plug)
        return 2;
    plug();
    return 0;
}

#endif
