/* Call sites laid down by hand, as logdef_wire::site describes them: two calls, a copy of the first,
 * one of a later version and one whose format is not in this image. */
#include <stdint.h>
#include <stdio.h>

struct site {
    const char *format, *file, *function, *module;
    const uint8_t *kinds;
    const void *plan;
    void *state;
    uint32_t line;
    uint8_t level, args, version, flags;
};

#define SITE __attribute__((used, section("logdef_sites"), aligned(8)))

static uint64_t first_state, second_state, third_state;
static const uint8_t kinds[] = {1, 5, 200};

SITE static const struct site late = {
    "%u later %c", "b.c", NULL, "some.module", NULL, "plan", &second_state, 7, 0x33, 2, 1, 16};
SITE static const struct site early = {
    "%d is %s", "a.c", "main", NULL, kinds, NULL, &first_state, 70000, 0x50, 3, 1, 1};
SITE static const struct site copy = {
    "%d is %s", "a.c", "main", NULL, kinds, NULL, &first_state, 70000, 0x50, 3, 1, 1};
SITE static const struct site of_another_version = {
    "unknown", "a.c", NULL, NULL, NULL, NULL, &third_state, 1, 1, 0, 2, 0};
SITE static const struct site elsewhere = {
    (const char *)&stdout, "a.c", NULL, NULL, NULL, NULL, &third_state, 1, 1, 0, 1, 0};

int main(void) {
    return (int)(late.line + early.line + copy.line + of_another_version.line + elsewhere.line);
}
