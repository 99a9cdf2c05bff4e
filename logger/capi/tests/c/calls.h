/* A header that C and C++ share and that logs, and what calls.c and calls.cc have
 * to offer. */
#ifndef CALLS_H
#define CALLS_H

#include <logdef.h>

struct Incomplete;

#ifdef __cplusplus
extern "C" {
#endif

static inline int shared_header(int i)
{
    LOGDEF(INFO, "shared header %d", i);
    return i;
}

void c_levels(void);
void c_types(const struct Incomplete *incomplete, char *text, const char *words[2]);
void c_counts(void);
void c_limits(int i);
int c_places(int i);
void c_wrapped(int i);
void c_never_called(int i);

void cpp_levels(void);
void cpp_types(const struct Incomplete *incomplete, char *text, void (*function)(void));
void cpp_limits(int i);
int cpp_places(int i);
void cpp_wrapped(int i);
int cpp_other_unit(int i);

#ifdef __cplusplus
} /* extern "C" */

/* What several units instantiate, and the linker merges. */

inline int in_inline(int i)
{
    static int calls = 0;
    LOGDEF(INFO, "inline %d %d", i, calls++);
    return i;
}

template <class T>
T in_template(T value)
{
    LOGDEF(INFO, "template %d", static_cast<int>(value));
    LOGDEF(INFO, "template %s %zu", __func__, sizeof(T));
    LOGDEF_EVERY_N(2, INFO, "template %d, every second", static_cast<int>(value));
    return value;
}
#endif

#endif
