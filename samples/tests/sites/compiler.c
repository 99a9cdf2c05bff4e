/* A program that compiles code while it runs, as an interpreter of JavaScript or Java does, and says
   where in the list of perf. What it compiles keeps its frame pointer and calls a function that
   logs.

   compiler LOG FOLDER */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "logdef.h"

static void complain(void) { LOGDEF(ERROR, "compiled code complains"); }

static const uint8_t code[] = {
#if defined(__x86_64__)
    0x55,             /* push %rbp */
    0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
    0xff, 0xd7,       /* call *%rdi */
    0x5d,             /* pop %rbp */
    0xc3,             /* ret */
#elif defined(__aarch64__)
    0xfd, 0x7b, 0xbf, 0xa9, /* stp x29, x30, [sp, #-16]! */
    0xfd, 0x03, 0x00, 0x91, /* mov x29, sp */
    0x00, 0x00, 0x3f, 0xd6, /* blr x0 */
    0xfd, 0x7b, 0xc1, 0xa8, /* ldp x29, x30, [sp], #16 */
    0xc0, 0x03, 0x5f, 0xd6, /* ret */
#endif
};

int main(int argc, char **argv)
{
    char path[4096];
    void *made;
    void (*function)(void (*)(void));
    FILE *list;

    if (argc != 3 || logdef_open(argv[1]) != 0)
        return 1;
    made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return 1;
    memcpy(made, code, sizeof code);
    if (mprotect(made, 4096, PROT_READ | PROT_EXEC) != 0)
        return 1;
    __builtin___clear_cache((char *)made, (char *)made + sizeof code);
    snprintf(path, sizeof path, "%s/perf-%d.map", argv[2], (int)getpid());
    list = fopen(path, "w");
    if (list == NULL)
        return 1;
    fprintf(list, "%lx %zx JS:*refuse /srv/app.js:12:3\x1b[31m\n", (unsigned long)made, sizeof code);
    fclose(list);
    memcpy(&function, &made, sizeof function);
    function(complain);
    logdef_close();
    return 0;
}
