/* Makes a program see pages of 64 KiB, as some machines of aarch64 have them: the page
 * size that it asks for is that, the kernel's mappings come at multiples of it, and what
 * is not aligned so is refused. For LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE ((size_t)64 << 10)

static size_t up(size_t len) { return (len + PAGE - 1) / PAGE * PAGE; }

static int refused(uintptr_t number) {
    if (number % PAGE == 0) return 0;
    errno = EINVAL;
    return 1;
}

static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

long sysconf(int name) {
    static long (*next)(int);
    if (name == _SC_PAGESIZE) return PAGE;
    if (!next) next = (long (*)(int))real("sysconf");
    return next(name);
}

int getpagesize(void) { return PAGE; }

unsigned long getauxval(unsigned long type) {
    static unsigned long (*next)(unsigned long);
    if (type == AT_PAGESZ) return PAGE;
    if (!next) next = (unsigned long (*)(unsigned long))real("getauxval");
    return next(type);
}

static void *map(void *at, size_t len, int prot, int flags, int fd, off_t offset) {
    return (void *)syscall(SYS_mmap, at, len, prot, flags, fd, offset);
}

void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset) {
    char *room, *start;
    if (refused((uintptr_t)offset)) return MAP_FAILED;
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
        if (refused((uintptr_t)at)) return MAP_FAILED;
        return map(at, up(len), prot, flags, fd, offset);
    }
    room = map(NULL, up(len) + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return MAP_FAILED;
    start = (char *)up((uintptr_t)room);
    if (start > room) syscall(SYS_munmap, room, (size_t)(start - room));
    if (start < room + PAGE)
        syscall(SYS_munmap, start + up(len), (size_t)(room + PAGE - start));
    room = map(start, up(len), prot, flags | MAP_FIXED, fd, offset);
    if (room == MAP_FAILED) {
        int why = errno;
        syscall(SYS_munmap, start, up(len));
        errno = why;
    }
    return room;
}

void *mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset) {
    return mmap(at, len, prot, flags, fd, offset);
}

int munmap(void *at, size_t len) {
    return refused((uintptr_t)at) ? -1 : (int)syscall(SYS_munmap, at, up(len));
}

int mprotect(void *at, size_t len, int prot) {
    return refused((uintptr_t)at) ? -1 : (int)syscall(SYS_mprotect, at, up(len), prot);
}

int madvise(void *at, size_t len, int advice) {
    return refused((uintptr_t)at) ? -1 : (int)syscall(SYS_madvise, at, up(len), advice);
}
