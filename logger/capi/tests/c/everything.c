/* All calls there are, into a log. */
#include "calls.h"

static void nothing(void)
{
}

int main(int argc, char **argv)
{
    char text[] = "text";
    const char *words[2] = {"two", "words"};
    int i;

    if (argc != 2 || logdef_open(argv[1]) != 0)
        return 2;
    c_levels();
    c_types(0, text, words);
    c_counts();
    cpp_levels();
    cpp_types(0, text, nothing);
    for (i = 0; i < 8; i++) {
        c_limits(i);
        cpp_limits(i);
        c_places(i);
        cpp_places(i);
        c_wrapped(i);
        cpp_wrapped(i);
        cpp_other_unit(i);
    }
    return 0;
}
