/* A program, or a library of one: makes every call there is, and walks the
 * section of its call sites. */
#include "calls.h"
#include "recorder.h"

#include <stdio.h>
#include <string.h>

__attribute__((__visibility__("default"))) int run_image(void);

#ifdef WALK
#define HIDDEN __attribute__((__visibility__("hidden")))
extern const struct logdef_site __start_logdef_sites[] HIDDEN;
extern const struct logdef_site __stop_logdef_sites[] HIDDEN;

static int walk(void)
{
    const struct logdef_site *site, *before;
    int sites = 0, copies = 0, never = 0, bad = 0;

    for (site = __start_logdef_sites; site != __stop_logdef_sites; site++) {
        sites++;
        for (before = __start_logdef_sites; before != site && before->state != site->state;)
            before++;
        copies += before != site;
        never += before == site && strncmp(site->format, "never", 5) == 0;
        if (site->version != LOGDEF_SITE_VERSION || site->level == 0 || site->line == 0 ||
            site->args > LOGDEF_MAX_ARGS || strlen(site->format) > 80 ||
            strstr(site->file, "tests/c/") == NULL || strlen(site->function) == 0 ||
            site->state->image != &logdef_image || (uintptr_t)site % 8 != 0) {
            printf("bad site %s:%u %s\n", site->file, site->line, site->format);
            bad++;
        }
    }
    printf("sites=%d\ncopies=%d\nnever=%d\nbad=%d\n", sites, copies, never, bad);
    return bad;
}
#endif

static int nothing(void)
{
    return 0;
}

int run_image(void)
{
    char text[] = "text";
    const char *words[2] = {"two", "words"};
    int i;

#ifdef WALK
    recorder_start = __start_logdef_sites;
    recorder_stop = __stop_logdef_sites;
#endif
    c_levels();
    c_types(NULL, text, words);
    c_counts();
    cpp_levels();
    cpp_types(NULL, text, (void (*)(void))nothing);
    for (i = 0; i < 8; i++) {
        c_limits(i);
        cpp_limits(i);
        c_places(i);
        cpp_places(i);
        cpp_other_unit(i);
    }
    printf("records=%u\nasked=%u\nstrays=%u\n", recorded_count, recorded_questions,
           recorder_strays);
#ifdef WALK
    return walk();
#else
    return 0;
#endif
}

#ifdef PROGRAM
int main(void)
{
    return run_image();
}
#endif
