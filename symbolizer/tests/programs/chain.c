/* Two functions inlined into a third, a static one, strings in several kinds of places. */
#include <stdio.h>
#include <stdlib.h>

const char *const table[] = {"first entry", "second entry"};
char writable[] = "not a constant";

static inline __attribute__((always_inline)) int innermost(int value) {
    printf("value is %d in %s\n", value, __FILE__);
    return value * 3;
}

static inline __attribute__((always_inline)) int middle(int value) {
    return innermost(value + 1) + 2;
}

__attribute__((noinline)) int outer(int value) {
    int result = middle(value);
    return result ^ 5;
}

static __attribute__((noinline)) void fail(const char *why) {
    puts(why);
    abort();
}

int main(int argc, char **argv) {
    if (argc > 9) {
        fail(table[argc & 1]);
    }
    writable[0] = 'N';
    return outer(argc) + (argv[0] == writable);
}
