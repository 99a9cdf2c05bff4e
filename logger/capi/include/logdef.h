/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * logdef: a binary log in which everything logged before a crash is still
 * there after it.
 *
 *     #include <logdef.h>
 *
 *     int main(void)
 *     {
 *         if (logdef_open("app.log") != 0)
 *             perror("app.log");
 *         LOGDEF(INFO, "accepted %s:%d in %.3f ms", host, port, ms);
 *     }
 *
 * C11 and later, C++11 and later, gcc and clang, 64-bit ELF machines. For C++20,
 * logdef_format.h has calls with the formats of std::format.
 *
 * A log call is a statement. Its level is TRACE, DEBUG, INFO, WARN, ERROR or
 * FATAL, or an integer from 1 to 255: a constant, or any int expression that begins with
 * a name, which is evaluated once. A call whose level is a variable looks up for each record
 * what others look up once, and takes about ten times as long. Its format
 * is a string literal, checked with its arguments by the compiler as printf's
 * is; it takes up to 32 arguments. The arguments are evaluated once when the
 * record is written, and not at all when a filter suppresses it. As with any
 * macro, in C an argument with a bare comma between braces needs parentheses.
 *
 * In C++ `%s` also takes std::string, std::string_view and other ranges of char
 * that have data() and size(). `%p` takes LOGDEF_HEX(pointer, length): these bytes,
 * NUL included, go into the log, and are shown as a hex dump.
 * In C++, if an argument throws, no record is written, but the call counts against
 * its rate limit.
 *
 * Log calls may stand in signal handlers, constructors, destructors, inline
 * functions, templates and lambdas; but not where a language allows no static
 * objects: in constexpr functions, and in C in an `inline` function that is not
 * `static`. A handler that logs uses up to 12 KiB of stack, beside the kernel's signal
 * frame of 1 to 4 KiB: more than a sigaltstack of SIGSTKSZ bytes has. A thread needs 20 KiB of stack for
 * its first call with a backtrace: more than PTHREAD_STACK_MIN.
 *
 * Signal safety: log calls are async-signal-safe. Each function says whether it is.
 *
 * In order: levels and filters, log calls, opening and closing, contexts, a function for
 * bindings of other languages, wrappers that have a va_list, and the binary interface,
 * which the macros expand to.
 */
#ifndef LOGDEF_H
#define LOGDEF_H

#if !defined(__GNUC__)
#error "logdef.h needs gcc or clang"
#endif
#if !defined(__ELF__) || !defined(__LP64__)
#error "logdef.h needs a 64-bit ELF machine"
#endif
#if !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L)
#error "logdef.h needs C11 or later"
#endif
#if defined(__cplusplus) && __cplusplus < 201103L
#error "logdef.h needs C++11 or later"
#endif

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>
#ifdef __cplusplus
extern "C++" { /* for those who include this within extern "C" */
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
}
/* What follows is C for the most part. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuseless-cast"
#endif
#endif

/* ---- Levels and filters ------------------------------------------------ */

#define LOGDEF_TRACE 0x10
#define LOGDEF_DEBUG 0x20
#define LOGDEF_INFO 0x30
#define LOGDEF_WARN 0x40
#define LOGDEF_ERROR 0x50
#define LOGDEF_FATAL 0x60

/*
 * Calls below this level are checked, so that they stay correct, and compiled to
 * nothing (C without optimisation: to a site that is never used). A level as in
 * LOGDEF, for instance -DLOGDEF_MIN_LEVEL=INFO. Where the level of a call is a variable, it
 * is compared when the program runs.
 */
#ifndef LOGDEF_MIN_LEVEL
#define LOGDEF_MIN_LEVEL 0
#endif

/*
 * The module by which filters name the calls that follow: a string literal. May be
 * redefined between calls. Without it, filters name a call by its file only.
 */
#ifndef LOGDEF_MODULE
#define LOGDEF_MODULE NULL
#endif

/* ---- Log calls --------------------------------------------------------- */

/* LOGDEF(level, format, ...) writes a record. */
#define LOGDEF(level_, ...) \
    LOGDEF_PLAIN_(LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), 0, __VA_ARGS__)

/* Like LOGDEF; the level is any int expression, `(level)` and `*level` too, and no name of
 * a level: LOGDEF_INFO, not INFO. */
#define LOGDEF_AT(level_, ...) LOGDEF_PLAIN_(level_, 0, __VA_ARGS__)

/* Like LOGDEF; the record carries a backtrace whatever its level. */
#define LOGDEF_BT(level_, ...)                                                                \
    LOGDEF_PLAIN_(LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), LOGDEF_SITE_BACKTRACE,   \
                  __VA_ARGS__)

/*
 * Key-values after the text, which does not show them: each key is a string literal
 * without a comma, followed by its value. Up to 16 pairs. A value is a number, a string,
 * a pointer, LOGDEF_HEX or a bool, and keeps its type. A text that has arguments stands
 * in parentheses with them.
 *
 *     LOGDEF_KV(INFO, "accepted", "host", host, "port", port);
 *     LOGDEF_KV(WARN, ("answered in %.1f ms", ms), "host", host);
 *
 * The keys are in the log once for each chunk; readers show them as fields.
 */
#define LOGDEF_KV(level_, message_, ...)                                                      \
    LOGDEF_KV_(LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), (__VA_ARGS__),              \
               LOGDEF_BARE_(message_))

/*
 * Rate limits. Each call site counts for itself, over all threads; calls that a
 * filter suppresses are not counted. A record's field `skipped` is the number of calls
 * that were skipped since the site's last record; its format and arguments are as
 * they are without a limit. LOGDEF_ONCE and LOGDEF_FIRST_N never report what they
 * skip after their last record.
 */

/* Writes the first call. */
#define LOGDEF_ONCE(level_, ...)                                                              \
    LOGDEF_LIMITED_(logdef_first_n_, 1,                                                       \
                    LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), __VA_ARGS__)

/* Writes the first n calls. */
#define LOGDEF_FIRST_N(n_, level_, ...)                                                       \
    LOGDEF_LIMITED_(logdef_first_n_, n_,                                                      \
                    LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), __VA_ARGS__)

/* Writes call 1, n + 1, 2 n + 1 and so on. */
#define LOGDEF_EVERY_N(n_, level_, ...)                                                       \
    LOGDEF_LIMITED_(logdef_every_n_, n_,                                                      \
                    LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), __VA_ARGS__)

/* Writes a call if `ms` milliseconds have passed since the last one that was written. */
#define LOGDEF_AT_MOST_EVERY(ms_, level_, ...)                                                \
    LOGDEF_LIMITED_(logdef_at_most_every, ms_,                                                \
                    LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), __VA_ARGS__)

/*
 * Spans of time. A span begins and ends on one thread, and spans nest: an end ends
 * the one that began last. Readers show how long it took, and trace viewers draw it.
 *
 *     LOGDEF_BEGIN(INFO, "load %s", path);
 *     LOGDEF_END(INFO, "%d rows", rows);
 */
#define LOGDEF_BEGIN(level_, ...)                                                             \
    LOGDEF_PLAIN_(LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), LOGDEF_SITE_BEGIN,       \
                  __VA_ARGS__)
#define LOGDEF_END(level_, ...)                                                               \
    LOGDEF_PLAIN_(LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), LOGDEF_SITE_END,         \
                  __VA_ARGS__)

/* C++: a declaration; the span lasts to the end of the block. If a filter suppresses its
 * beginning, its end is not written either. */
#ifdef __cplusplus
#define LOGDEF_SPAN(level_, ...)                                                              \
    LOGDEF_SPAN_(LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), __LINE__, __VA_ARGS__)
#endif

/* Spans that may end on another thread. `id` joins begin and end: a number that no
 * other open span of the process has. */
#define LOGDEF_ASYNC_BEGIN(id_, level_, ...)                                                  \
    LOGDEF_ASYNC_(id_, LOGDEF_SITE_BEGIN | LOGDEF_SITE_SPAN,                                  \
                  LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), __VA_ARGS__)
#define LOGDEF_ASYNC_END(id_, level_, ...)                                                    \
    LOGDEF_ASYNC_(id_, LOGDEF_SITE_END | LOGDEF_SITE_SPAN,                                    \
                  LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), __VA_ARGS__)

/*
 * Values of counters, which trace viewers draw as curves: each argument is a value,
 * and the text before its conversion is its name. Text up to a colon names them all.
 *
 *     LOGDEF_COUNTER(DEBUG, "queue depth %d", depth);
 *     LOGDEF_COUNTER(DEBUG, "disk: read %zu, written %zu", read, written);
 */
#define LOGDEF_COUNTER(level_, ...)                                                           \
    LOGDEF_PLAIN_(LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0), LOGDEF_SITE_COUNTER,     \
                  __VA_ARGS__)

#ifdef __cplusplus
extern "C" {
#define LOGDEF_NOTHROW_ noexcept
#else
#define LOGDEF_NOTHROW_ __attribute__((__nothrow__))
#endif

/* ---- Opening and closing ----------------------------------------------- */

enum {
    LOGDEF_SINK_AUTO = 0,   /* mapped where the file system is known to be safe */
    LOGDEF_SINK_MAPPED = 1, /* records are stored into a mapping of the file; EOPNOTSUPP where
                               its file system cannot reserve space, as ext2 and ext3 */
    LOGDEF_SINK_APPEND = 2  /* each call is written at once: to a file by one write(2), to
                               a pipe, a socket or a terminal as logdef_open says */
};

enum {
    LOGDEF_CLOCK_AUTO = 0,   /* the CPU's counter where it can be trusted */
    LOGDEF_CLOCK_KERNEL = 1, /* the kernel's clock for each record */
    LOGDEF_CLOCK_COARSE = 2  /* the kernel's coarse clock, exact to its tick of 1 to
                                10 ms: the cheapest */
};

/*
 * The options of logdef_open_with. Zero means the default, which comes last in each
 * comment below. Initialize with LOGDEF_OPTIONS: later versions add members at the end.
 */
typedef struct logdef_options {
    size_t struct_size;  /* sizeof(logdef_options) */
    int sink;            /* LOGDEF_SINK_... */
    int clock;           /* LOGDEF_CLOCK_... */
    int level;           /* the lowest level that is written; TRACE */
    int backtrace_level; /* the lowest level with backtraces; ERROR */
    int backtrace_depth; /* the most return addresses of a backtrace, up to 256; 32 */
    int max_string;      /* bytes; longer strings are cut, and marked as cut; 16 KiB, and
                            60,000 at most */
    uint64_t file_size;  /* bytes; a file that reaches this size is followed by a new
                            one, or continues beyond it if none can be made. EINVAL
                            for pipes, sockets and devices; one file. A number is skipped
                            where threads began a file at the same moment, or another file
                            has that name */
    uint64_t files;      /* how many of these files are kept, at most 1,024, by the process
                            and its forked children together. Where no new file can be
                            made, the oldest parts of a mapped log make room, and an
                            appended log drops calls and counts them.
                            EINVAL without file_size or file_age; all */
    const char *filter;  /* as for logdef_set_filter; the environment variable LOGDEF */
    int mirror_level;    /* the lowest level that is also shown on standard error, for
                            development, as long as descriptor 2 is the file that it
                            was when the log was opened (one of the program's own, if it
                            has that number by then): a call waits where that is a
                            full pipe; the environment variable LOGDEF_STDERR (a level,
                            or 1 for all), else no mirror */
    int fatal_signals;   /* 1: writes a note and a backtrace at the first SIGSEGV, SIGBUS,
                            SIGILL, SIGFPE, SIGABRT or SIGTRAP. A program that sets
                            handlers of its own after logdef_open gets no note; off */
    uint64_t flight_recorder; /* keeps about this many of the newest bytes, in eight
                            files; each thread that logs takes 16 KiB of a file at least,
                            so with many threads fewer records; all */
    int guard;           /* 1: if another program truncates the file, the log continues
                            in a new one. Handles SIGBUS for the log's own memory, but not
                            in threads that block it;
                            off: that SIGBUS ends the program */
    int file_mode;       /* permission bits of new files, whatever the umask, such as
                            0640; 0600 */
    uint64_t file_age;   /* seconds; a file that is this old is followed by a new one at the
                            next call, as with file_size. EINVAL for pipes, sockets and
                            devices; never */
    uint64_t folder_bytes; /* when the log opens or begins a file, the logs of its directory
                            that were written to longest ago are removed, whatever they are
                            called, until all of them take at most this many bytes of
                            the file system: only files that begin as a log does, and none that
                            a living process writes to. A log that is appended to without
                            file_size or file_age is not bounded; any number */
    int file_group;      /* the id of the group of new files; where the system does not
                            allow it, their own group gets no rights; that of the process,
                            or of a directory with the set-group-ID bit */
    int use_umask;       /* 1: the umask is taken from file_mode, whose default is 0666
                            then; off */
    int helper;          /* 1: a thread makes room for records ahead, so that a call which
                            needs more seldom waits for the file system. For mapped logs
                            with many records; four chunks of up to 4 MiB are ready.
                            It blocks all signals, has the scheduling and the CPUs of the
                            thread that opens the log, and ends when that is closed; a
                            forked child has none. logdef_status.helper says why, if it
                            cannot be started. Until its first chunk is ready, a call may
                            wait a millisecond for it: logdef_reserve 24 MiB first if that
                            is too long. It also removes files that are no longer kept,
                            and lets `path` lead to the newest, within milliseconds after
                            that was begun: if the process is killed in these, or ends
                            without logdef_close, `path` leads to the file before; off */
    int control;         /* 1: `logdef ctl` may see and change the log while the program runs:
                            level and filter, for a time or for good, another file, a
                            sync, a note; 2: it may not. A log in a file has a page of 4 KiB
                            beside it then, .NAME.ctl, for the user of the process only.
                            Not in programs with more rights than the user who started
                            them; the environment variable LOGDEF_CTL (1 or 0), else off */
} logdef_options;

#define LOGDEF_OPTIONS \
    {sizeof(logdef_options), 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/*
 * Opens the log of the process: one for the program and all its libraries, also those
 * that contain a copy of the logger. Returns 0, or -1 and errno: EBUSY if the process
 * has a log already. Signal safety: not async-signal-safe.
 *
 * Calls before it are kept in memory, up to 32 KiB and 256 calls, and written by the
 * first logdef_open that succeeds, with their own times and threads, by the level and
 * the filter that the log is opened with; strings are cut to 4 KiB. A child forked
 * before has them too. What does not fit is counted. With LOGDEF_STDERR in the
 * environment they are shown at once, also if no log is ever opened.
 *
 * A mapped log is a new file of mode 0600. A file that has its name already is
 * renamed to `path.000001` or the next free number; an appended log is added to
 * it. With `file_size` the files are `path.000001`, `path.000002` and so on, and
 * `path` is a link to the newest. Only files that logdef wrote are ever removed, and
 * never one that belongs to another running process; of files that hold nothing, or up
 * to 64 MiB of zeros only, those of this user that are called `path.NNNNNN` and that no
 * process has open; and links `path.NNNNNN.TID.link` that ended threads left. Any other link at `path` is
 * followed once, and the log is made where it leads; /dev/stdout, /dev/stderr,
 * /dev/fd/N and /proc/self/fd/N are the process's own streams.
 *
 * On a pipe, a socket or a terminal the threads of the process take turns, so that
 * records of any length arrive whole, a pipe's in pieces of up to 4,096 bytes; a call
 * waits while the pipe is full. If the descriptor does not block, a record that finds
 * no room is dropped and counted at once. One that was begun waits for each further
 * piece, up to a second; if there is no room by then it is counted as dropped, and its
 * part stays in the stream. Other threads wait for their turn meanwhile. A record of up
 * to 4,096 bytes with what it defines is never cut so. A datagram socket gets each call
 * as one message, and drops what is longer than it sends at once. A signal handler that
 * interrupts a call in the middle of its record drops its own record and counts it.
 * Several processes on one pipe: records of up to 4,096 bytes arrive whole. ENXIO if no
 * process opens a FIFO for reading within a second.
 *
 * ENAMETOOLONG if the name of a mapped log is longer than 248 bytes, or of one with `file_size` or
 * `file_age` than 235, where the file system allows 255: names beside it are longer.
 *
 * The log's descriptors are numbered from 64 up where the limit on open files allows,
 * and are never 0, 1 or 2.
 */
int logdef_open(const char *path) LOGDEF_NOTHROW_;
/* Like logdef_open, with options, which may be null. EINVAL if one is out of its range.
 * Signal safety: not async-signal-safe. */
int logdef_open_with(const char *path, const logdef_options *options) LOGDEF_NOTHROW_;

/* Ends the log. A program that never calls it loses nothing: a record is in the file
 * when its call returns. Later calls are counted and not written.
 * Signal safety: not async-signal-safe. */
void logdef_close(void) LOGDEF_NOTHROW_;

/* Reserves room in the log for the next `bytes` bytes, for programs that drop
 * privileges, change their root or give up system calls once they have started. A program
 * that closes the log's descriptors and can no longer open its path logs as far as that.
 * One that forbids to read the CPU's counter (PR_SET_TSC, and with it the strict mode of
 * seccomp) is killed by its next call, with SIGSEGV.
 * Returns 0, or -1 and errno. Signal safety: not async-signal-safe. */
int logdef_reserve(uint64_t bytes) LOGDEF_NOTHROW_;

/* Waits until everything logged so far survives a power cut. Returns 0, or -1 and errno.
 * If more than 64 files of a rotated log, or 32 of an appended one, were begun after the
 * last logdef_sync, all of their file system is synced, by syncfs.
 * Signal safety: not async-signal-safe. */
int logdef_sync(void) LOGDEF_NOTHROW_;

/*
 * Opens the log's path again, for programs whose logs are renamed by other programs:
 * the next call of any thread writes its record to the file that was open, and opens a
 * new one under the same path. Nothing is lost. If the path still leads to the file that
 * is written to, nothing changes. A rotated log begins its next file.
 * Returns 0, or -1 and ENOTCONN if no log is open. If the new file cannot be opened, a
 * note in the old file records it, and the log stays there.
 * Signal safety: async-signal-safe; for a handler of SIGHUP, for instance.
 */
int logdef_reopen(void) LOGDEF_NOTHROW_;

/* What became of what the log's path led to when the log was opened, or of another file
 * that a reopen or a rotation found there later. */
enum {
    LOGDEF_EXISTING_NOTHING = 0,  /* there was nothing, or the log is a stream */
    LOGDEF_EXISTING_RENAMED = 1,  /* a file, which got the name `previous` */
    LOGDEF_EXISTING_REMOVED = 2,  /* an empty file, which was removed */
    LOGDEF_EXISTING_APPENDED = 3, /* a file to which the log is appended */
    LOGDEF_EXISTING_RELINKED = 4  /* a link to the newest file of an earlier run, which
                                     keeps its name */
};

/* The state of the log. Initialize with LOGDEF_STATUS: later versions add members at
 * the end. */
typedef struct logdef_status {
    size_t struct_size;  /* sizeof(logdef_status) */
    int is_open;         /* 1 if a log is open, else 0 */
    int is_mapped;       /* 1: the mapped sink; 0: the sink that appends */
    int error;           /* the errno for which records are dropped now; 0 if none are */
    int existing;        /* LOGDEF_EXISTING_...: what became of what the path led to */
    uint64_t unreported; /* calls that were not written, and that no record counts yet */
    uint64_t file_bytes; /* size of the file, reserved and unwritten bytes included */
    char why[128];       /* why the sink is not the usual one; else empty */
    char path[4096];     /* the file that is written to; empty for a stream */
    char previous[4096]; /* the name that the last file that stood at the log's path in
                            the way of the log was given: when it was opened, or by a
                            reopen or a rotation since; empty if there was no such file */
    uint64_t dropped;    /* calls that were not written since the log was opened, or this
                            child was forked, counted by a record or not */
    int helper;          /* 1: the helper runs; 0: none was asked for, or this is a forked
                            child; else the negative errno that says why not */
    int reserved;        /* 0 */
} logdef_status;

#define LOGDEF_STATUS {sizeof(logdef_status), 0, 0, 0, 0, 0, 0, "", "", "", 0, 0, 0}

/* Fills in `status`. Returns 0, or -1 and errno. Signal safety: not async-signal-safe. */
int logdef_state(logdef_status *status) LOGDEF_NOTHROW_;

/*
 * Each of the following four may be called from any thread, also while other threads
 * log; calls that begin afterwards obey it.
 */

/* Writes calls of this level and above from now on, where no directive of the filter
 * applies. Signal safety: async-signal-safe. */
void logdef_set_level(int level) LOGDEF_NOTHROW_;

/* Writes the calls that the directives name from now on, for instance
 * "info,net=debug,db/wal.c:120=trace". logdef_open reads them from the environment
 * variable LOGDEF, if it is set; if they are wrong, it says so on standard error and
 * in a note in the log. A set-user-ID program reads no variable.
 * Returns 0, or -1 and EINVAL if a directive is wrong; then nothing changes. Each
 * successful call keeps the memory of its filter until the process ends.
 * Signal safety: not async-signal-safe. */
int logdef_set_filter(const char *filter) LOGDEF_NOTHROW_;

/* Adds a backtrace to records of this level and above from now on.
 * Signal safety: async-signal-safe. */
void logdef_set_backtrace_level(int level) LOGDEF_NOTHROW_;

/* Limits backtraces to this many return addresses from now on, at most 256; where the
 * stack is deeper, the record says so. Signal safety: async-signal-safe. */
void logdef_set_backtrace_depth(int depth) LOGDEF_NOTHROW_;

/* Lists the libraries loaded and unloaded since the last call, so that their exported
 * functions have names even in backtraces of signal handlers. With a glibc before
 * 2.35, and musl, their code has neither name nor module in the log until then.
 * Signal safety: not async-signal-safe. */
void logdef_modules_changed(void) LOGDEF_NOTHROW_;

/* Returns 1 if a record of this level could be written by some call now, or kept until
 * the log is open, else 0: for programs that prepare costly arguments. Signal safety: async-signal-safe. */
int logdef_enabled(int level) LOGDEF_NOTHROW_;

/* Like logdef_enabled, for a wrapper that logs if the result is 1: a call that is lost
 * since no log is open is counted. Signal safety: async-signal-safe. */
int logdef_enabled_now(int level) LOGDEF_NOTHROW_;

/* Returns the version of the library, such as "0.1.0".
 * Signal safety: async-signal-safe. */
const char *logdef_version(void) LOGDEF_NOTHROW_;

/* ---- Contexts ---------------------------------------------------------- */

/*
 * Key-values that are given once and hold for many records: for the calls of a thread
 * until a block ends, or for a connection that goes from thread to thread.
 *
 *     LOGDEF_WITH("user", user, "shard", shard);
 *
 *     LOGDEF_CONTEXT_INIT(&connection->context, NULL, "peer", peer, "id", id);
 *     LOGDEF_IN_CONTEXT(&connection->context);
 *
 * LOGDEF_WITH is a declaration: until its block ends, the records of this thread have
 * these keys besides those that they had before. LOGDEF_CONTEXT_INIT is a statement: it
 * makes a context that adds to another one, or to none, and LOGDEF_IN_CONTEXT is a
 * declaration: until its block ends, the records of this thread have the keys of that
 * context and of those that it adds to, and no others. A block is left by its end, break,
 * return, goto or an exception. After longjmp, and in C after pthread_exit or
 * pthread_cancel, the thread stays in the context until its memory is used for other
 * things, and is in none then. No co_await may stand in the block of a coroutine.
 *
 * Up to 16 pairs: a key is a string, a value a number, a string, a pointer or a bool. A
 * context holds LOGDEF_CONTEXT_ROOM bytes of them; strings that do not fit are cut and
 * marked as cut. The values are copied when the context is made. A record only names its
 * context, whose keys the log has once for each chunk; readers show them as fields.
 */
#define LOGDEF_CONTEXT_ROOM 480

/* A context: memory of the program's, which must stay where it is, unchanged, as long as
 * a thread is in it or in one that adds to it. */
typedef struct logdef_context {
    uint64_t id;
    const struct logdef_context *parent;
    const void *keys;
    uint32_t count;
    uint32_t length;
    unsigned char pairs[LOGDEF_CONTEXT_ROOM];
} logdef_context;

/* Makes a context of keys and values in turn, `n` in all, as `kinds` and `words` have
 * them. Signal safety: async-signal-safe. */
void logdef_context_init(logdef_context *context, const logdef_context *parent,
                         const uint8_t *kinds, const uint64_t *words, int n) LOGDEF_NOTHROW_;

/* From now on the calls of this thread are made in `context`, or in none if it is null.
 * Returns the context before, which may be entered again.
 * Signal safety: async-signal-safe. */
const logdef_context *logdef_context_enter(const logdef_context *context) LOGDEF_NOTHROW_;

/* Returns the context of this thread's calls, or null.
 * Signal safety: async-signal-safe. */
const logdef_context *logdef_context_current(void) LOGDEF_NOTHROW_;

#define LOGDEF_CONTEXT_INIT(context_, parent_, ...)                                           \
    LOGDEF_CONTEXT_INIT_(context_, parent_, __VA_ARGS__)

#define LOGDEF_IN_CONTEXT(context_) LOGDEF_IN_CONTEXT_(context_, __LINE__)

#define LOGDEF_WITH(...) LOGDEF_WITH_(__LINE__, __VA_ARGS__)

/* ---- The binary interface ---------------------------------------------- */

#define LOGDEF_MAX_ARGS 32

/* What an argument's 64-bit word holds: an integer, extended to 64 bits as its type
 * says; a double's bits; a pointer; a long double's address. */
enum {
    LOGDEF_KIND_INT = 1,
    LOGDEF_KIND_UINT = 2,
    LOGDEF_KIND_DOUBLE = 3,
    LOGDEF_KIND_LONG_DOUBLE = 4,
    LOGDEF_KIND_CSTR = 5,
    LOGDEF_KIND_WSTR = 6,
    LOGDEF_KIND_POINTER = 7,
    LOGDEF_KIND_BYTES = 8, /* the address of a struct logdef_bytes: a string */
    LOGDEF_KIND_BOOL = 10, /* 0 or 1 */
    LOGDEF_KIND_INT128 = 11,  /* the address of a signed integer of 128 bits */
    LOGDEF_KIND_UINT128 = 12, /* the address of an unsigned one */
    LOGDEF_KIND_BLOB = 13  /* the address of a struct logdef_bytes: bytes of any meaning */
};

/* Bytes that need no NUL: a string, or what LOGDEF_HEX makes. */
struct logdef_bytes {
    const void *at; /* null is printed as a null string is */
    size_t length;
};

enum {
    LOGDEF_SITE_VERSION = 1,
    LOGDEF_SITE_BACKTRACE = 1, /* flags: records carry a backtrace */
    LOGDEF_SITE_BEGIN = 4,     /* flags: a span of time begins */
    LOGDEF_SITE_END = 8,       /* flags: a span of time ends */
    LOGDEF_SITE_COUNTER = 12,  /* flags: the arguments are values of counters */
    LOGDEF_SITE_LIMITED = 16,  /* flags: one more word follows the arguments': how
                                  many calls were skipped before this one */
    LOGDEF_SITE_SPAN = 32,     /* flags: one more word follows the arguments': the
                                  number of the span */
    LOGDEF_SITE_DESCRIBED = 128 /* flags: after the format's NUL comes its grammar,
                                  and what its arguments are called */
};

struct logdef_image;
struct logdef_site_state;

/*
 * A call site. All sites of an image lie in its section `logdef_sites`, also those
 * never reached. A compiler that copies code may copy a site with it; the copies
 * share their state.
 */
struct logdef_site {
    const char *format;
    const char *file;
    const char *function;
    const char *module; /* or null */
    const uint8_t *kinds; /* LOGDEF_KIND_..., one per argument */
    const void *plan; /* null */
    struct logdef_site_state *state;
    uint32_t line;
    uint8_t level; /* 0: each call has its own */
    uint8_t args;
    uint8_t version; /* LOGDEF_SITE_VERSION */
    uint8_t flags;
};

/* The library's memory of a call site. This header reads the gate only: while it
 * equals the image's gate, the site is off; while it is one more, the site is on; else
 * logdef_ask decides. */
struct logdef_site_state {
    uint32_t gate;
    uint32_t reserved;
    struct logdef_image *image;
    uint64_t words[22];
};

/* The library's memory of an image: a program or a shared library. */
struct logdef_image {
    const uint32_t *gate;
    uint64_t words[7];
};

/* The counters of a rate-limited call site. */
struct logdef_limit {
    uint64_t count;
    uint64_t due;
};

/* The gate of an image in which no call was made yet. It is 1, and the gates of its
 * sites are 0, so the first call of each asks the library. */
#define LOGDEF_ONE_PER_IMAGE_ __attribute__((__weak__, __visibility__("hidden")))
extern const uint32_t logdef_gate_unset LOGDEF_ONE_PER_IMAGE_;
const uint32_t logdef_gate_unset = 1;
extern struct logdef_image logdef_image LOGDEF_ONE_PER_IMAGE_;
struct logdef_image logdef_image = {&logdef_gate_unset, {0, 0, 0, 0, 0, 0, 0}};

/* Returns whether a site is on, and stores the answer in its gate.
 * Signal safety: async-signal-safe. */
__attribute__((__cold__)) int logdef_ask(const struct logdef_site *site) LOGDEF_NOTHROW_;

/* Writes a record. `words` has one word per argument, and one more for a site with
 * LOGDEF_SITE_LIMITED or LOGDEF_SITE_SPAN. Signal safety: async-signal-safe. */
void logdef_emit(const struct logdef_site *site, const uint64_t *words) LOGDEF_NOTHROW_;

/* Returns whether a call of this level is on, of a site where each has its own.
 * Signal safety: async-signal-safe. */
int logdef_ask_at(const struct logdef_site *site, int level) LOGDEF_NOTHROW_;

/* Writes a record of this level, of a site where each call has its own.
 * Signal safety: async-signal-safe. */
void logdef_emit_at(const struct logdef_site *site, int level,
                    const uint64_t *words) LOGDEF_NOTHROW_;

/* Writes a record of a format that is not the literal of a call site, with `n`
 * arguments. The library keeps no pointer to what is passed.
 * Signal safety: async-signal-safe. */
void logdef_emit_text(int level, const char *file, uint32_t line, const char *function,
                      const char *format, const uint8_t *kinds, const uint64_t *words,
                      int n) LOGDEF_NOTHROW_;

/* Writes to `types` the LOGDEF_TYPE_... that va_arg must take for each argument of
 * `format`. Returns their number, or -1 if it is greater than `max`.
 * Signal safety: async-signal-safe. */
int logdef_kinds(const char *format, uint8_t *types, int max) LOGDEF_NOTHROW_;

/* Returns how many calls were skipped since the last one that was due, if this one is
 * due, else -1. Signal safety: async-signal-safe. */
int64_t logdef_at_most_every(struct logdef_limit *limit, uint64_t ms) LOGDEF_NOTHROW_;

enum {
    LOGDEF_TYPE_INT = 1,
    LOGDEF_TYPE_UNSIGNED = 2,
    LOGDEF_TYPE_LONG = 3,
    LOGDEF_TYPE_UNSIGNED_LONG = 4,
    LOGDEF_TYPE_LONG_LONG = 5,
    LOGDEF_TYPE_UNSIGNED_LONG_LONG = 6,
    LOGDEF_TYPE_INTMAX = 7,
    LOGDEF_TYPE_UINTMAX = 8,
    LOGDEF_TYPE_SIGNED_SIZE = 9,
    LOGDEF_TYPE_SIZE = 10,
    LOGDEF_TYPE_PTRDIFF = 11,
    LOGDEF_TYPE_UNSIGNED_PTRDIFF = 12,
    LOGDEF_TYPE_INT32 = 13,
    LOGDEF_TYPE_UINT32 = 14,
    LOGDEF_TYPE_INT64 = 15,
    LOGDEF_TYPE_UINT64 = 16,
    LOGDEF_TYPE_INT_FAST16 = 17,
    LOGDEF_TYPE_UINT_FAST16 = 18,
    LOGDEF_TYPE_INT_FAST32 = 19,
    LOGDEF_TYPE_UINT_FAST32 = 20,
    LOGDEF_TYPE_INT_FAST64 = 21,
    LOGDEF_TYPE_UINT_FAST64 = 22,
    LOGDEF_TYPE_WINT = 23,
    LOGDEF_TYPE_DOUBLE = 24,
    LOGDEF_TYPE_LONG_DOUBLE = 25,
    LOGDEF_TYPE_CHAR_POINTER = 26,
    LOGDEF_TYPE_WCHAR_POINTER = 27,
    LOGDEF_TYPE_POINTER = 28
};

/* Functions of this header are no calls of the program's: with -finstrument-functions a call in
 * __cyg_profile_func_enter would come to itself. */
#define LOGDEF_OWN_ __attribute__((__no_instrument_function__))
#define LOGDEF_INLINE_ static __inline__ __attribute__((__always_inline__)) LOGDEF_OWN_
#define LOGDEF_INLINE_MEMBER_ inline __attribute__((__always_inline__)) LOGDEF_OWN_
#define LOGDEF_PRINTF_(format, first) __attribute__((__format__(__printf__, format, first)))

/* Never runs: here the compiler looks at formats and arguments. */
LOGDEF_PRINTF_(1, 2) LOGDEF_OWN_ static __inline__ void logdef_check_(const char *format, ...)
{
    (void)format;
}

LOGDEF_INLINE_ int logdef_is_on_(const struct logdef_site *site,
                                 const struct logdef_site_state *state)
{
    const uint32_t *gate = __atomic_load_n(&logdef_image.gate, __ATOMIC_RELAXED);
    uint32_t distance =
        __atomic_load_n(&state->gate, __ATOMIC_RELAXED) - __atomic_load_n(gate, __ATOMIC_RELAXED);

    return distance == 1 || (distance != 0 && logdef_ask(site));
}

LOGDEF_INLINE_ int64_t logdef_first_n_(struct logdef_limit *limit, uint64_t n)
{
    if (__atomic_load_n(&limit->count, __ATOMIC_RELAXED) >= n)
        return -1;
    return __atomic_fetch_add(&limit->count, 1, __ATOMIC_RELAXED) < n ? 0 : -1;
}

LOGDEF_INLINE_ int64_t logdef_every_n_(struct logdef_limit *limit, uint64_t n)
{
    uint64_t before = __atomic_fetch_add(&limit->count, 1, __ATOMIC_RELAXED);
    if (n < 2)
        return 0;
    if (before % n != 0)
        return -1;
    return before == 0 ? 0 : (int64_t)(n - 1);
}

LOGDEF_INLINE_ uint64_t logdef_double_bits_(double value)
{
    uint64_t word;
    __builtin_memcpy(&word, &value, sizeof word);
    return word;
}

/* ---- For bindings of other languages ------------------------------------ */

/* A named value of a record. */
typedef struct logdef_field {
    const char *name; /* in UTF-8 */
    int type;         /* LOGDEF_FIELD_... */
    union {
        int64_t i;
        uint64_t u;
        double d;
        const char *text;
    } value;
    size_t length; /* of a text: bytes; it needs no NUL */
} logdef_field;

enum {
    LOGDEF_FIELD_INT = 0,    /* i */
    LOGDEF_FIELD_UINT = 1,   /* u */
    LOGDEF_FIELD_DOUBLE = 2, /* d */
    LOGDEF_FIELD_BOOL = 3,   /* u: 0 or not */
    LOGDEF_FIELD_TEXT = 4    /* text and length */
};

/*
 * Writes a record of a text of `length` bytes, which needs no NUL and is no format, and of
 * `n` fields; those beyond 32 are left out. `file` and `function` may be NULL. Each level, file,
 * line and function is remembered, up to some 4,000 of them: their names then stand in the
 * log once for each chunk. In C and C++ the macros are faster.
 * Signal safety: not async-signal-safe.
 */
void logdef_write(int level, const char *file, uint32_t line, const char *function,
                  const char *text, size_t length, const logdef_field *fields,
                  size_t n) LOGDEF_NOTHROW_;

/* ---- Wrappers that have a va_list -------------------------------------- */

/*
 * For functions that take a format and pass it on. The format need not be a
 * literal; it and the file's name are parsed for each record and written into it, so a
 * wrapper that is a macro around LOGDEF is faster and its records are shorter.
 * Signal safety: async-signal-safe.
 */

LOGDEF_PRINTF_(5, 0)
LOGDEF_OWN_ static __inline__ void logdef_vlog_at(int level, const char *file, uint32_t line,
                                      const char *function, const char *format, va_list args)
{
#define LOGDEF_TAKE_SIGNED_(code, type)                              \
    case code:                                                       \
        words[i] = (uint64_t)(int64_t)va_arg(args, type);            \
        kinds[i] = LOGDEF_KIND_INT;                                  \
        break
#define LOGDEF_TAKE_UNSIGNED_(code, type)                            \
    case code:                                                       \
        words[i] = (uint64_t)va_arg(args, type);                     \
        kinds[i] = LOGDEF_KIND_UINT;                                 \
        break
#define LOGDEF_TAKE_POINTER_(code, type, kind)                       \
    case code:                                                       \
        words[i] = (uint64_t)(uintptr_t)va_arg(args, type);          \
        kinds[i] = kind;                                             \
        break

    uint8_t kinds[LOGDEF_MAX_ARGS];
    uint64_t words[LOGDEF_MAX_ARGS];
    long double long_doubles[LOGDEF_MAX_ARGS];
    int i, n;

    if (!logdef_enabled_now(level))
        return;
    n = logdef_kinds(format, kinds, LOGDEF_MAX_ARGS);
    if (n < 0)
        n = 0; /* The record has the format, without arguments. */
    words[0] = 0;
    for (i = 0; i < n; i++) {
        switch (kinds[i]) {
            LOGDEF_TAKE_SIGNED_(LOGDEF_TYPE_INT, int);
            LOGDEF_TAKE_UNSIGNED_(LOGDEF_TYPE_UNSIGNED, unsigned int);
            LOGDEF_TAKE_SIGNED_(LOGDEF_TYPE_LONG, long);
            LOGDEF_TAKE_UNSIGNED_(LOGDEF_TYPE_UNSIGNED_LONG, unsigned long);
            LOGDEF_TAKE_SIGNED_(LOGDEF_TYPE_LONG_LONG, long long);
            LOGDEF_TAKE_UNSIGNED_(LOGDEF_TYPE_UNSIGNED_LONG_LONG, unsigned long long);
            LOGDEF_TAKE_SIGNED_(LOGDEF_TYPE_INTMAX, intmax_t);
            LOGDEF_TAKE_UNSIGNED_(LOGDEF_TYPE_UINTMAX, uintmax_t);
            LOGDEF_TAKE_SIGNED_(LOGDEF_TYPE_SIGNED_SIZE, ptrdiff_t);
            LOGDEF_TAKE_UNSIGNED_(LOGDEF_TYPE_SIZE, size_t);
            LOGDEF_TAKE_SIGNED_(LOGDEF_TYPE_PTRDIFF, ptrdiff_t);
            LOGDEF_TAKE_UNSIGNED_(LOGDEF_TYPE_UNSIGNED_PTRDIFF, size_t);
            LOGDEF_TAKE_SIGNED_(LOGDEF_TYPE_INT32, int32_t);
            LOGDEF_TAKE_UNSIGNED_(LOGDEF_TYPE_UINT32, uint32_t);
            LOGDEF_TAKE_SIGNED_(LOGDEF_TYPE_INT64, int64_t);
            LOGDEF_TAKE_UNSIGNED_(LOGDEF_TYPE_UINT64, uint64_t);
            LOGDEF_TAKE_SIGNED_(LOGDEF_TYPE_INT_FAST16, int_fast16_t);
            LOGDEF_TAKE_UNSIGNED_(LOGDEF_TYPE_UINT_FAST16, uint_fast16_t);
            LOGDEF_TAKE_SIGNED_(LOGDEF_TYPE_INT_FAST32, int_fast32_t);
            LOGDEF_TAKE_UNSIGNED_(LOGDEF_TYPE_UINT_FAST32, uint_fast32_t);
            LOGDEF_TAKE_SIGNED_(LOGDEF_TYPE_INT_FAST64, int_fast64_t);
            LOGDEF_TAKE_UNSIGNED_(LOGDEF_TYPE_UINT_FAST64, uint_fast64_t);
            LOGDEF_TAKE_UNSIGNED_(LOGDEF_TYPE_WINT, wint_t);
        case LOGDEF_TYPE_DOUBLE:
            words[i] = logdef_double_bits_(va_arg(args, double));
            kinds[i] = LOGDEF_KIND_DOUBLE;
            break;
        case LOGDEF_TYPE_LONG_DOUBLE:
            long_doubles[i] = va_arg(args, long double);
            words[i] = (uint64_t)(uintptr_t)&long_doubles[i];
            kinds[i] = LOGDEF_KIND_LONG_DOUBLE;
            break;
            LOGDEF_TAKE_POINTER_(LOGDEF_TYPE_CHAR_POINTER, const char *, LOGDEF_KIND_CSTR);
            LOGDEF_TAKE_POINTER_(LOGDEF_TYPE_WCHAR_POINTER, const wchar_t *, LOGDEF_KIND_WSTR);
            LOGDEF_TAKE_POINTER_(LOGDEF_TYPE_POINTER, const void *, LOGDEF_KIND_POINTER);
        default: /* A type of a later library: the arguments after it cannot be read. */
            n = i;
            break;
        }
    }
    logdef_emit_text(level, file, line, function, format, kinds, words, n);
#undef LOGDEF_TAKE_SIGNED_
#undef LOGDEF_TAKE_UNSIGNED_
#undef LOGDEF_TAKE_POINTER_
}

LOGDEF_PRINTF_(5, 6)
LOGDEF_OWN_ static __inline__ void logdef_log_at(int level, const char *file, uint32_t line,
                                     const char *function, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    logdef_vlog_at(level, file, line, function, format, args);
    va_end(args);
}

/* logdef_log(level, format, ...) and logdef_vlog(level, format, va_list) with the
 * place of the call; the level is any int expression, such as LOGDEF_INFO. */
#define logdef_log(level, ...) logdef_log_at(level, __FILE__, __LINE__, __func__, __VA_ARGS__)
#define logdef_vlog(level, format, args) \
    logdef_vlog_at(level, __FILE__, __LINE__, __func__, format, args)

#ifdef __cplusplus
} /* extern "C" */
#endif

/* ---- What the log calls expand to, in both languages ------------------- */

/* A level by its name, or else the token itself. The name is pasted in the first
 * macro, before macros are expanded in it, so that a program's DEBUG does no harm. */
#define LOGDEF_PICK_(...) LOGDEF_SECOND_(__VA_ARGS__)
#define LOGDEF_SECOND_(first_, second_, ...) second_
/* `logdef_level_` is the level if that is constant, else -1. */
#define LOGDEF_IS_CONSTANT_() (logdef_level_ >= 0)
#define LOGDEF_SITE_LEVEL_() (LOGDEF_IS_CONSTANT_() ? +logdef_level_ : 0)
/* Whether the compiler leaves the call in. `logdef_now_` is a level that is no constant. */
#define LOGDEF_IS_IN_() \
    ((LOGDEF_IS_CONSTANT_() ? +logdef_level_ : logdef_now_) >= LOGDEF_MIN_LEVEL_())
#define LOGDEF_CHECK_LEVEL_(assert_)                                                          \
    assert_(logdef_level_ != LOGDEF_MISCALLED_,                                               \
            "logdef: there is no such level: write WARN for WARNING, INFO for NOTICE, "       \
            "ERROR for ERR, FATAL for CRITICAL, TRACE for VERBOSE, INFO for LOG_INFO");       \
    assert_(logdef_level_ != 0 && (logdef_level_ < 256 || logdef_level_ == LOGDEF_MISCALLED_), \
            "logdef: a level is from 1 to 255")
#define LOGDEF_CHECK_FORMAT_(assert_, ...)                                                    \
    assert_(__builtin_constant_p(LOGDEF_PICK_(0, __VA_ARGS__, 0)),                            \
            "logdef: the format is not a string literal: write \"%s\" before it, or logdef_log")
#define LOGDEF_LEVEL_OF_TRACE 0, LOGDEF_TRACE
#define LOGDEF_LEVEL_OF_DEBUG 0, LOGDEF_DEBUG
#define LOGDEF_LEVEL_OF_INFO 0, LOGDEF_INFO
#define LOGDEF_LEVEL_OF_WARN 0, LOGDEF_WARN
#define LOGDEF_LEVEL_OF_ERROR 0, LOGDEF_ERROR
#define LOGDEF_LEVEL_OF_FATAL 0, LOGDEF_FATAL
/* What other loggers call them. */
#define LOGDEF_MISCALLED_ 512
#define LOGDEF_LEVEL_OF_WARNING 0, LOGDEF_MISCALLED_
#define LOGDEF_LEVEL_OF_NOTICE 0, LOGDEF_MISCALLED_
#define LOGDEF_LEVEL_OF_ERR 0, LOGDEF_MISCALLED_
#define LOGDEF_LEVEL_OF_CRIT 0, LOGDEF_MISCALLED_
#define LOGDEF_LEVEL_OF_CRITICAL 0, LOGDEF_MISCALLED_
#define LOGDEF_LEVEL_OF_VERBOSE 0, LOGDEF_MISCALLED_
/* Those of syslog are numbers below all levels that are written; a program may have others of
 * these names. */
#define LOGDEF_NOT_SYSLOGS_(level_) ((level_) < 8 ? LOGDEF_MISCALLED_ : (level_))
#define LOGDEF_LEVEL_OF_LOG_EMERG 0, LOGDEF_NOT_SYSLOGS_(LOG_EMERG)
#define LOGDEF_LEVEL_OF_LOG_ALERT 0, LOGDEF_NOT_SYSLOGS_(LOG_ALERT)
#define LOGDEF_LEVEL_OF_LOG_CRIT 0, LOGDEF_NOT_SYSLOGS_(LOG_CRIT)
#define LOGDEF_LEVEL_OF_LOG_ERR 0, LOGDEF_NOT_SYSLOGS_(LOG_ERR)
#define LOGDEF_LEVEL_OF_LOG_WARNING 0, LOGDEF_NOT_SYSLOGS_(LOG_WARNING)
#define LOGDEF_LEVEL_OF_LOG_NOTICE 0, LOGDEF_NOT_SYSLOGS_(LOG_NOTICE)
#define LOGDEF_LEVEL_OF_LOG_INFO 0, LOGDEF_NOT_SYSLOGS_(LOG_INFO)
#define LOGDEF_LEVEL_OF_LOG_DEBUG 0, LOGDEF_NOT_SYSLOGS_(LOG_DEBUG)
#define LOGDEF_MIN_LEVEL_() LOGDEF_MIN_LEVEL_OF_(LOGDEF_MIN_LEVEL)
#define LOGDEF_MIN_LEVEL_OF_(level_) LOGDEF_MIN_LEVEL_PASTE_(level_)
#define LOGDEF_MIN_LEVEL_PASTE_(level_) LOGDEF_PICK_(LOGDEF_LEVEL_OF_##level_, level_, 0)

/* The format, with an error if it is not a string literal. */
#define LOGDEF_FORMAT_(...) LOGDEF_FIRST_(__VA_ARGS__, 0)
#define LOGDEF_FIRST_(first_, ...) "" first_

/* What stands in parentheses, or is no list. */
#define LOGDEF_BARE_(list_) LOGDEF_PICK_(LOGDEF_PROBE_ list_, LOGDEF_KEEP_, 0) list_
#define LOGDEF_PROBE_(...) 0, LOGDEF_STRIP_
#define LOGDEF_STRIP_(...) __VA_ARGS__
#define LOGDEF_KEEP_

/* Key-values. A format with those of its description that are beside it. */
#define LOGDEF_KV_TEXT_(format_, pairs_) \
    "" format_ "\0c;" LOGDEF_EACH_PAIR_(LOGDEF_KEY_OF_, ",", 0, LOGDEF_STRIP_ pairs_)
#define LOGDEF_KEY_OF_(at_, key_, value_) key_
#define LOGDEF_CHECK_PAIR_(assert_, key_)                                                     \
    assert_(__builtin_constant_p(key_) && sizeof(key_) > 1,                                   \
            "logdef: a key is a string literal that is not empty");

/* A macro for each pair, with something between two. */
#define LOGDEF_EACH_PAIR_(m_, between_, at_, ...)                                             \
    LOGDEF_PAIRS_(LOGDEF_COUNT_PAIRS_(__VA_ARGS__))(m_, between_, at_, __VA_ARGS__)
#define LOGDEF_COUNT_PAIRS_(...)                                                              \
    LOGDEF_COUNT_PAIRS_AT_(__VA_ARGS__, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, 16,   \
                           ODD, 15, ODD, 14, ODD, 13, ODD, 12, ODD, 11, ODD, 10, ODD, 9, ODD, \
                           8, ODD, 7, ODD, 6, ODD, 5, ODD, 4, ODD, 3, ODD, 2, ODD, 1, ODD, 0)
#define LOGDEF_COUNT_PAIRS_AT_(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14,   \
                               _15, _16, _17, _18, _19, _20, _21, _22, _23, _24, _25, _26,    \
                               _27, _28, _29, _30, _31, _32, _33, _34, _35, _36, _37, _38,    \
                               _39, _40, _41, _42, _43, _44, _45, _46, _47, _48, n_, ...)     \
    n_
#define LOGDEF_PAIRS_(count_) LOGDEF_PAIRS_OF_(count_)
#define LOGDEF_PAIRS_OF_(count_) LOGDEF_PAIRS_##count_
#define LOGDEF_PAIRS_X(...) logdef_takes_at_most_16_pairs
#define LOGDEF_PAIRS_ODD(...) logdef_each_key_is_followed_by_its_value
#define LOGDEF_PAIRS_1(m_, s_, n_, k_, v_) m_(n_, k_, v_)
#define LOGDEF_PAIRS_2(m_, s_, n_, k_, v_, ...) m_(n_, k_, v_) s_ LOGDEF_PAIRS_1(m_, s_, (n_) + 1, __VA_ARGS__)
#define LOGDEF_PAIRS_3(m_, s_, n_, k_, v_, ...) m_(n_, k_, v_) s_ LOGDEF_PAIRS_2(m_, s_, (n_) + 1, __VA_ARGS__)
#define LOGDEF_PAIRS_4(m_, s_, n_, k_, v_, ...) m_(n_, k_, v_) s_ LOGDEF_PAIRS_3(m_, s_, (n_) + 1, __VA_ARGS__)
#define LOGDEF_PAIRS_5(m_, s_, n_, k_, v_, ...) m_(n_, k_, v_) s_ LOGDEF_PAIRS_4(m_, s_, (n_) + 1, __VA_ARGS__)
#define LOGDEF_PAIRS_6(m_, s_, n_, k_, v_, ...) m_(n_, k_, v_) s_ LOGDEF_PAIRS_5(m_, s_, (n_) + 1, __VA_ARGS__)
#define LOGDEF_PAIRS_7(m_, s_, n_, k_, v_, ...) m_(n_, k_, v_) s_ LOGDEF_PAIRS_6(m_, s_, (n_) + 1, __VA_ARGS__)
#define LOGDEF_PAIRS_8(m_, s_, n_, k_, v_, ...) m_(n_, k_, v_) s_ LOGDEF_PAIRS_7(m_, s_, (n_) + 1, __VA_ARGS__)
#define LOGDEF_PAIRS_9(m_, s_, n_, k_, v_, ...) m_(n_, k_, v_) s_ LOGDEF_PAIRS_8(m_, s_, (n_) + 1, __VA_ARGS__)
#define LOGDEF_PAIRS_10(m_, s_, n_, k_, v_, ...) m_(n_, k_, v_) s_ LOGDEF_PAIRS_9(m_, s_, (n_) + 1, __VA_ARGS__)
#define LOGDEF_PAIRS_11(m_, s_, n_, k_, v_, ...) m_(n_, k_, v_) s_ LOGDEF_PAIRS_10(m_, s_, (n_) + 1, __VA_ARGS__)
#define LOGDEF_PAIRS_12(m_, s_, n_, k_, v_, ...) m_(n_, k_, v_) s_ LOGDEF_PAIRS_11(m_, s_, (n_) + 1, __VA_ARGS__)
#define LOGDEF_PAIRS_13(m_, s_, n_, k_, v_, ...) m_(n_, k_, v_) s_ LOGDEF_PAIRS_12(m_, s_, (n_) + 1, __VA_ARGS__)
#define LOGDEF_PAIRS_14(m_, s_, n_, k_, v_, ...) m_(n_, k_, v_) s_ LOGDEF_PAIRS_13(m_, s_, (n_) + 1, __VA_ARGS__)
#define LOGDEF_PAIRS_15(m_, s_, n_, k_, v_, ...) m_(n_, k_, v_) s_ LOGDEF_PAIRS_14(m_, s_, (n_) + 1, __VA_ARGS__)
#define LOGDEF_PAIRS_16(m_, s_, n_, k_, v_, ...) m_(n_, k_, v_) s_ LOGDEF_PAIRS_15(m_, s_, (n_) + 1, __VA_ARGS__)

#define LOGDEF_IN_SITES_ __attribute__((__section__("logdef_sites"), __aligned__(8)))

#ifndef __cplusplus

/* ---- C ----------------------------------------------------------------- */

_Static_assert(sizeof(struct logdef_site) == 64, "logdef: the layout of a call site");
_Static_assert(sizeof(struct logdef_site_state) == 192, "logdef: the layout of a site's state");
_Static_assert(sizeof(struct logdef_image) == 64, "logdef: the layout of an image");

#define LOGDEF_PLAIN_(level_, flags_, ...)                                                    \
    do {                                                                                      \
        LOGDEF_DECLARE_(LOGDEF_COUNT_(__VA_ARGS__), level_, flags_, __VA_ARGS__);             \
        if (LOGDEF_IS_ON_()) {                                                                \
            LOGDEF_WORDS_(LOGDEF_COUNT_(__VA_ARGS__), __VA_ARGS__)                            \
            LOGDEF_EMIT_WORDS_();                                                             \
        }                                                                                     \
        LOGDEF_CHECK_(__VA_ARGS__);                                                           \
    } while (0)

/* In a branch that is never taken the compiler checks the arguments all the same. Not
 * that %p has a pointer to void: LOGDEF_HEX is another type. */
#ifdef __clang__
#define LOGDEF_CHECK_(...)                                                                    \
    _Pragma("clang diagnostic push")                                                          \
    _Pragma("clang diagnostic ignored \"-Wformat-pedantic\"")                                 \
    if (0)                                                                                    \
        logdef_check_(__VA_ARGS__);                                                           \
    _Pragma("clang diagnostic pop")
#else
#define LOGDEF_CHECK_(...)                                                                    \
    if (0)                                                                                    \
        __extension__ logdef_check_(__VA_ARGS__)
#endif

#define LOGDEF_HEX(pointer_, length_)                                                         \
    (&(const struct logdef_bytes){(pointer_), (size_t)(length_)})

#define LOGDEF_LIMITED_(take_, limit_, level_, ...)                                           \
    do {                                                                                      \
        static struct logdef_limit logdef_limit_ = {0, 0};                                    \
        LOGDEF_DECLARE_(LOGDEF_COUNT_(__VA_ARGS__), level_, LOGDEF_SITE_LIMITED, __VA_ARGS__);\
        if (LOGDEF_IS_ON_()) {                                                                \
            const int64_t logdef_skipped_ = take_(&logdef_limit_, (uint64_t)(limit_));        \
            if (logdef_skipped_ >= 0) {                                                       \
                LOGDEF_WORDS_(LOGDEF_COUNT_(__VA_ARGS__), __VA_ARGS__)                        \
                logdef_words_[LOGDEF_COUNT_(__VA_ARGS__)] = (uint64_t)logdef_skipped_;        \
                LOGDEF_EMIT_WORDS_();                                                         \
            }                                                                                 \
        }                                                                                     \
        LOGDEF_CHECK_(__VA_ARGS__);                                                           \
    } while (0)

#define LOGDEF_ASYNC_(id_, flags_, level_, ...)                                               \
    do {                                                                                      \
        LOGDEF_DECLARE_(LOGDEF_COUNT_(__VA_ARGS__), level_, flags_, __VA_ARGS__);             \
        if (LOGDEF_IS_ON_()) {                                                                \
            LOGDEF_WORDS_(LOGDEF_COUNT_(__VA_ARGS__), __VA_ARGS__)                            \
            logdef_words_[LOGDEF_COUNT_(__VA_ARGS__)] = (uint64_t)(id_);                      \
            LOGDEF_EMIT_WORDS_();                                                             \
        }                                                                                     \
        LOGDEF_CHECK_(__VA_ARGS__);                                                           \
    } while (0)

#define LOGDEF_DECLARE_(count_, level_, flags_, ...)                                          \
    LOGDEF_LEVEL_(level_);                                                                    \
    LOGDEF_CHECK_FORMAT_(_Static_assert, __VA_ARGS__);                                        \
    static struct logdef_site_state logdef_state_ = {0, 0, &logdef_image, {0}};               \
    static const uint8_t logdef_kinds_[] = {                                                  \
        LOGDEF_MAP_(count_)(LOGDEF_KIND_, count_, __VA_ARGS__)};                              \
    static const struct logdef_site logdef_site_ LOGDEF_IN_SITES_ = {                         \
        LOGDEF_FORMAT_(__VA_ARGS__), __FILE__, __func__, LOGDEF_MODULE, logdef_kinds_, NULL,  \
        &logdef_state_, __LINE__, (uint8_t)LOGDEF_SITE_LEVEL_(), count_,                         \
        LOGDEF_SITE_VERSION, flags_}

#define LOGDEF_LEVEL_(level_)                                                                 \
    enum { logdef_level_ = __builtin_choose_expr(__builtin_constant_p(level_), (level_), -1) }; \
    LOGDEF_CHECK_LEVEL_(_Static_assert);                                                      \
    const int logdef_now_ = LOGDEF_IS_CONSTANT_() ? 0 : (level_)

#define LOGDEF_IS_ON_()                                                                       \
    (LOGDEF_IS_IN_() && (LOGDEF_IS_CONSTANT_() ? logdef_is_on_(&logdef_site_, &logdef_state_) \
                                               : logdef_ask_at(&logdef_site_, logdef_now_)))
#define LOGDEF_EMIT_WORDS_()                                                                  \
    (LOGDEF_IS_CONSTANT_() ? logdef_emit(&logdef_site_, logdef_words_)                        \
                           : logdef_emit_at(&logdef_site_, logdef_now_, logdef_words_))

/* The last word is for rate limits and async spans; for a plain call nothing is stored
 * there. */
#define LOGDEF_WORDS_(count_, ...)                                                            \
    long double logdef_long_doubles_[(count_) + 1];                                           \
    uint64_t logdef_words_[(count_) + 1];                                                     \
    (void)logdef_long_doubles_;                                                               \
    LOGDEF_MAP_(count_)(LOGDEF_STORE_, count_, __VA_ARGS__)

#define LOGDEF_STORE_(at_, value_)                                                            \
    logdef_words_[at_] = LOGDEF_WORD_(value_)(value_, &logdef_long_doubles_[at_]);
#define LOGDEF_STORE_NOTHING_ logdef_words_[0] = 0;

/* The type of an expression after the default argument promotions, for _Generic,
 * which evaluates nothing. */
#define LOGDEF_PROMOTED_(value_) (1 ? (value_) : 0)

#define LOGDEF_KIND_(at_, value_)                                                             \
    _Generic(LOGDEF_PROMOTED_(value_),                                                        \
        int: LOGDEF_KIND_INT,                                                                 \
        long: LOGDEF_KIND_INT,                                                                \
        long long: LOGDEF_KIND_INT,                                                           \
        unsigned int: LOGDEF_KIND_UINT,                                                       \
        unsigned long: LOGDEF_KIND_UINT,                                                      \
        unsigned long long: LOGDEF_KIND_UINT,                                                 \
        float: LOGDEF_KIND_DOUBLE,                                                            \
        double: LOGDEF_KIND_DOUBLE,                                                           \
        long double: LOGDEF_KIND_LONG_DOUBLE,                                                 \
        char *: LOGDEF_KIND_CSTR,                                                             \
        const char *: LOGDEF_KIND_CSTR,                                                       \
        signed char *: LOGDEF_KIND_CSTR,                                                      \
        const signed char *: LOGDEF_KIND_CSTR,                                                \
        unsigned char *: LOGDEF_KIND_CSTR,                                                    \
        const unsigned char *: LOGDEF_KIND_CSTR,                                              \
        wchar_t *: LOGDEF_KIND_WSTR,                                                          \
        const wchar_t *: LOGDEF_KIND_WSTR,                                                    \
        const struct logdef_bytes *: LOGDEF_KIND_BLOB,                                        \
        default: LOGDEF_KIND_POINTER),
#define LOGDEF_KIND_NOTHING_ 0

#define LOGDEF_WORD_(value_)                                                                  \
    _Generic(LOGDEF_PROMOTED_(value_),                                                        \
        int: logdef_int_word_,                                                                \
        long: logdef_int_word_,                                                               \
        long long: logdef_int_word_,                                                          \
        unsigned int: logdef_uint_word_,                                                      \
        unsigned long: logdef_uint_word_,                                                     \
        unsigned long long: logdef_uint_word_,                                                \
        float: logdef_float_word_,                                                            \
        double: logdef_double_word_,                                                          \
        long double: logdef_long_double_word_,                                                \
        default: logdef_pointer_word_)

LOGDEF_INLINE_ uint64_t logdef_int_word_(long long value, long double *room)
{
    (void)room;
    return (uint64_t)value;
}

LOGDEF_INLINE_ uint64_t logdef_uint_word_(unsigned long long value, long double *room)
{
    (void)room;
    return value;
}

LOGDEF_INLINE_ uint64_t logdef_double_word_(double value, long double *room)
{
    (void)room;
    return logdef_double_bits_(value);
}

LOGDEF_INLINE_ uint64_t logdef_float_word_(float value, long double *room)
{
    (void)room;
    return logdef_double_bits_((double)value);
}

LOGDEF_INLINE_ uint64_t logdef_long_double_word_(long double value, long double *room)
{
    *room = value;
    return (uint64_t)(uintptr_t)room;
}

LOGDEF_INLINE_ uint64_t logdef_pointer_word_(const volatile void *value, long double *room)
{
    (void)room;
    return (uint64_t)(uintptr_t)value;
}

/* How many arguments follow the format, and a macro for each of them. */
#define LOGDEF_COUNT_(...)                                                                    \
    LOGDEF_COUNT_AT_(__VA_ARGS__, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, \
                   X, X, X, X, X, X, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, \
                   18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define LOGDEF_COUNT_AT_(_0, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, \
                   _17, _18, _19, _20, _21, _22, _23, _24, _25, _26, _27, _28, _29, _30, _31, \
                   _32, _33, _34, _35, _36, _37, _38, _39, _40, _41, _42, _43, _44, _45, _46, \
                   _47, _48, _49, _50, _51, _52, _53, _54, _55, _56, _57, _58, _59, _60, _61, \
                   _62, _63, n_, ...) n_
#define LOGDEF_MAP_(count_) LOGDEF_MAP_OF_(count_)
#define LOGDEF_MAP_OF_(count_) LOGDEF_MAP_##count_
#define LOGDEF_MAP_X(...) logdef_takes_at_most_32_arguments
#define LOGDEF_MAP_0(m_, n_, f_) m_##NOTHING_
#define LOGDEF_MAP_1(m_, n_, f_, a_) m_((n_) - 1, a_)
#define LOGDEF_MAP_2(m_, n_, f_, a_, ...) m_((n_) - 2, a_) LOGDEF_MAP_1(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_3(m_, n_, f_, a_, ...) m_((n_) - 3, a_) LOGDEF_MAP_2(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_4(m_, n_, f_, a_, ...) m_((n_) - 4, a_) LOGDEF_MAP_3(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_5(m_, n_, f_, a_, ...) m_((n_) - 5, a_) LOGDEF_MAP_4(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_6(m_, n_, f_, a_, ...) m_((n_) - 6, a_) LOGDEF_MAP_5(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_7(m_, n_, f_, a_, ...) m_((n_) - 7, a_) LOGDEF_MAP_6(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_8(m_, n_, f_, a_, ...) m_((n_) - 8, a_) LOGDEF_MAP_7(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_9(m_, n_, f_, a_, ...) m_((n_) - 9, a_) LOGDEF_MAP_8(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_10(m_, n_, f_, a_, ...) m_((n_) - 10, a_) LOGDEF_MAP_9(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_11(m_, n_, f_, a_, ...) m_((n_) - 11, a_) LOGDEF_MAP_10(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_12(m_, n_, f_, a_, ...) m_((n_) - 12, a_) LOGDEF_MAP_11(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_13(m_, n_, f_, a_, ...) m_((n_) - 13, a_) LOGDEF_MAP_12(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_14(m_, n_, f_, a_, ...) m_((n_) - 14, a_) LOGDEF_MAP_13(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_15(m_, n_, f_, a_, ...) m_((n_) - 15, a_) LOGDEF_MAP_14(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_16(m_, n_, f_, a_, ...) m_((n_) - 16, a_) LOGDEF_MAP_15(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_17(m_, n_, f_, a_, ...) m_((n_) - 17, a_) LOGDEF_MAP_16(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_18(m_, n_, f_, a_, ...) m_((n_) - 18, a_) LOGDEF_MAP_17(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_19(m_, n_, f_, a_, ...) m_((n_) - 19, a_) LOGDEF_MAP_18(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_20(m_, n_, f_, a_, ...) m_((n_) - 20, a_) LOGDEF_MAP_19(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_21(m_, n_, f_, a_, ...) m_((n_) - 21, a_) LOGDEF_MAP_20(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_22(m_, n_, f_, a_, ...) m_((n_) - 22, a_) LOGDEF_MAP_21(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_23(m_, n_, f_, a_, ...) m_((n_) - 23, a_) LOGDEF_MAP_22(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_24(m_, n_, f_, a_, ...) m_((n_) - 24, a_) LOGDEF_MAP_23(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_25(m_, n_, f_, a_, ...) m_((n_) - 25, a_) LOGDEF_MAP_24(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_26(m_, n_, f_, a_, ...) m_((n_) - 26, a_) LOGDEF_MAP_25(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_27(m_, n_, f_, a_, ...) m_((n_) - 27, a_) LOGDEF_MAP_26(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_28(m_, n_, f_, a_, ...) m_((n_) - 28, a_) LOGDEF_MAP_27(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_29(m_, n_, f_, a_, ...) m_((n_) - 29, a_) LOGDEF_MAP_28(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_30(m_, n_, f_, a_, ...) m_((n_) - 30, a_) LOGDEF_MAP_29(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_31(m_, n_, f_, a_, ...) m_((n_) - 31, a_) LOGDEF_MAP_30(m_, n_, f_, __VA_ARGS__)
#define LOGDEF_MAP_32(m_, n_, f_, a_, ...) m_((n_) - 32, a_) LOGDEF_MAP_31(m_, n_, f_, __VA_ARGS__)

/* Key-values. */

#define LOGDEF_KV_(level_, pairs_, ...)                                                       \
    LOGDEF_KV_OF_(level_, LOGDEF_COUNT_(__VA_ARGS__), LOGDEF_COUNT_PAIRS_ pairs_, pairs_,     \
                  __VA_ARGS__)
#define LOGDEF_KV_OF_(level_, args_, count_, pairs_, ...)                                     \
    do {                                                                                      \
        LOGDEF_LEVEL_(level_);                                                                \
        LOGDEF_CHECK_FORMAT_(_Static_assert, __VA_ARGS__);                                    \
        LOGDEF_EACH_PAIR_(LOGDEF_CHECK_KEY_VALUE_, , 0, LOGDEF_STRIP_ pairs_)                 \
        static struct logdef_site_state logdef_state_ = {0, 0, &logdef_image, {0}};           \
        static const uint8_t logdef_kinds_[] = {                                              \
            LOGDEF_MAP_(args_)(LOGDEF_KIND_BEFORE_, args_, __VA_ARGS__)                       \
                LOGDEF_EACH_PAIR_(LOGDEF_KIND_OF_PAIR_, , 0, LOGDEF_STRIP_ pairs_)};          \
        static const struct logdef_site logdef_site_ LOGDEF_IN_SITES_ = {                     \
            LOGDEF_KV_TEXT_(LOGDEF_FORMAT_(__VA_ARGS__), pairs_), __FILE__, __func__,         \
            LOGDEF_MODULE, logdef_kinds_, NULL, &logdef_state_, __LINE__,                     \
            (uint8_t)LOGDEF_SITE_LEVEL_(),                                                    \
            (args_) + (count_), LOGDEF_SITE_VERSION, LOGDEF_SITE_DESCRIBED};                  \
        if (LOGDEF_IS_ON_()) {                                                                \
            long double logdef_long_doubles_[(args_) + (count_)];                             \
            uint64_t logdef_words_[(args_) + (count_)];                                       \
            (void)logdef_long_doubles_;                                                       \
            LOGDEF_MAP_(args_)(LOGDEF_STORE_BEFORE_, args_, __VA_ARGS__)                      \
            LOGDEF_EACH_PAIR_(LOGDEF_STORE_PAIR_, , args_, LOGDEF_STRIP_ pairs_)              \
            LOGDEF_EMIT_WORDS_();                                                             \
        }                                                                                     \
        LOGDEF_CHECK_(__VA_ARGS__);                                                           \
    } while (0)

#define LOGDEF_CHECK_KEY_VALUE_(at_, key_, value_)                                            \
    LOGDEF_CHECK_PAIR_(_Static_assert, key_)                                                  \
    LOGDEF_CHECK_VALUE_("a value is a number, a string, a pointer, LOGDEF_HEX or a bool", value_)
#define LOGDEF_CHECK_VALUE_(what_, value_)                                                    \
    _Static_assert(_Generic((value_), long double: 0, wchar_t *: 0, const wchar_t *: 0,       \
                            default: 1),                                                      \
                   "logdef: " what_);

#define LOGDEF_KIND_BEFORE_(at_, value_) LOGDEF_KIND_(at_, value_)
#define LOGDEF_KIND_BEFORE_NOTHING_
#define LOGDEF_STORE_BEFORE_(at_, value_) LOGDEF_STORE_(at_, value_)
#define LOGDEF_STORE_BEFORE_NOTHING_
#define LOGDEF_KIND_OF_PAIR_(at_, key_, value_) LOGDEF_VALUE_KIND_(at_, value_)
#define LOGDEF_STORE_PAIR_(at_, key_, value_) LOGDEF_STORE_(at_, value_)

/* Contexts. */

#define LOGDEF_CONTEXT_INIT_(context_, parent_, ...)                                          \
    do {                                                                                      \
        _Static_assert(LOGDEF_COUNT_("", __VA_ARGS__) % 2 == 0,                               \
                       "logdef: each key of a context is followed by its value");             \
        LOGDEF_MAP_(LOGDEF_COUNT_("", __VA_ARGS__))                                           \
        (LOGDEF_CHECK_KEY_, LOGDEF_COUNT_("", __VA_ARGS__), "", __VA_ARGS__)                  \
        static const uint8_t logdef_kinds_[] = {                                              \
            LOGDEF_MAP_(LOGDEF_COUNT_("", __VA_ARGS__))(                                      \
                LOGDEF_VALUE_KIND_, LOGDEF_COUNT_("", __VA_ARGS__), "", __VA_ARGS__)};        \
        LOGDEF_WORDS_(LOGDEF_COUNT_("", __VA_ARGS__), "", __VA_ARGS__)                        \
        logdef_context_init(context_, parent_, logdef_kinds_, logdef_words_,                  \
                            LOGDEF_COUNT_("", __VA_ARGS__));                                  \
    } while (0)

#define LOGDEF_CHECK_KEY_(at_, value_)                                                        \
    _Static_assert((at_) % 2 != 0 || _Generic((value_), char *: 1, const char *: 1, default: 0), \
                   "logdef: a key of a context is a string");                                 \
    LOGDEF_CHECK_VALUE_("a value of a context is a number, a string, a pointer or a bool", value_)

/* As LOGDEF_KIND_, but for a bool, which stays one. */
#define LOGDEF_VALUE_KIND_(at_, value_)                                                       \
    _Generic((value_), _Bool: LOGDEF_KIND_BOOL, default: LOGDEF_JUST_(LOGDEF_KIND_(at_, value_))),
#define LOGDEF_JUST_(...) LOGDEF_JUST_FIRST_(__VA_ARGS__)
#define LOGDEF_JUST_FIRST_(first_, ...) first_

/* Both names are of the line, so that blocks within blocks may have contexts too. */
#define LOGDEF_IN_CONTEXT_(context_, line_) LOGDEF_IN_CONTEXT_AT_(context_, line_)
#define LOGDEF_IN_CONTEXT_AT_(context_, line_)                                                \
    const logdef_context *const logdef_before_##line_                                         \
        __attribute__((__cleanup__(logdef_context_leave_), __unused__)) =                     \
            logdef_context_enter(context_)

#define LOGDEF_WITH_(line_, ...) LOGDEF_WITH_AT_(line_, __VA_ARGS__)
#define LOGDEF_WITH_AT_(line_, ...)                                                           \
    logdef_context logdef_with_##line_;                                                       \
    LOGDEF_CONTEXT_INIT_(&logdef_with_##line_, logdef_context_current(), __VA_ARGS__);        \
    LOGDEF_IN_CONTEXT_AT_(&logdef_with_##line_, line_)

LOGDEF_OWN_ static __inline__ void logdef_context_leave_(const logdef_context *const *before)
{
    (void)logdef_context_enter(*before);
}

#else /* __cplusplus */

/* ---- C++ --------------------------------------------------------------- */

static_assert(sizeof(logdef_site) == 64, "logdef: the layout of a call site");
static_assert(sizeof(logdef_site_state) == 192, "logdef: the layout of a site's state");
static_assert(sizeof(logdef_image) == 64, "logdef: the layout of an image");

/*
 * The static objects of a call are members of templates over a class that is
 * local to the call. The templates have internal linkage, so each image has its
 * own, wherever inline functions are merged, and none makes a library stay loaded.
 */

#define LOGDEF_PLAIN_(level_, flags_, ...)                                                    \
    do {                                                                                      \
        LOGDEF_EMIT_(level_, flags_, (void)0, emit(LOGDEF_CALL_(), __VA_ARGS__), __VA_ARGS__); \
        if (false)                                                                            \
            logdef_check_(__VA_ARGS__);                                                       \
    } while (0)

#define LOGDEF_ASYNC_(id_, flags_, level_, ...)                                               \
    do {                                                                                      \
        LOGDEF_EMIT_(level_, flags_, (void)0,                                                 \
                     emit_with(LOGDEF_CALL_(), static_cast< ::std::uint64_t>(id_), __VA_ARGS__), \
                     __VA_ARGS__);                                                            \
        if (false)                                                                            \
            logdef_check_(__VA_ARGS__);                                                       \
    } while (0)

/* The level is kept for the end; where it is constant nothing is. Not the plain call for the
 * end: compilers warn of an empty format. */
#define LOGDEF_SPAN_(level_, line_, ...) LOGDEF_SPAN_AT_(level_, line_, __VA_ARGS__)
#define LOGDEF_SPAN_AT_(level_, line_, ...)                                                   \
    const int logdef_level_##line_ = (level_);                                                \
    bool logdef_began_##line_ = false;                                                        \
    do {                                                                                      \
        LOGDEF_EMIT_(logdef_level_##line_, LOGDEF_SITE_BEGIN, logdef_began_##line_ = true,    \
                     emit(LOGDEF_CALL_(), __VA_ARGS__), __VA_ARGS__);                         \
        if (false)                                                                            \
            logdef_check_(__VA_ARGS__);                                                       \
    } while (0);                                                                              \
    LOGDEF_END_SPAN_(logdef_level_##line_, line_)
#define LOGDEF_END_SPAN_(level_, line_)                                                       \
    const auto logdef_span_##line_ = ::logdef_cpp::span_of(logdef_began_##line_, [=] {        \
        LOGDEF_EMIT_(level_, LOGDEF_SITE_END, (void)0, emit(LOGDEF_CALL_(), ""), "");         \
    })

#define LOGDEF_EMIT_(level_, flags_, first_, call_, ...)                                      \
    LOGDEF_HERE_(level_, flags_, __VA_ARGS__);                                                \
    if (LOGDEF_IS_IN_()) {                                                                    \
        LOGDEF_LOCATE_(level_, flags_, __VA_ARGS__);                                          \
        if (LOGDEF_IS_ON_()) {                                                                \
            first_;                                                                           \
            ::logdef_cpp::call_;                                                              \
        }                                                                                     \
    }                                                                                         \
    (void)0

#define LOGDEF_LIMITED_(take_, limit_, level_, ...)                                           \
    do {                                                                                      \
        LOGDEF_HERE_(level_, LOGDEF_SITE_LIMITED, __VA_ARGS__);                               \
        if (LOGDEF_IS_IN_()) {                                                                \
            LOGDEF_LOCATE_(level_, LOGDEF_SITE_LIMITED, __VA_ARGS__);                         \
            if (LOGDEF_IS_ON_()) {                                                            \
                const ::std::int64_t logdef_skipped_ =                                        \
                    take_(&::logdef_cpp::statics<logdef_here_>::limit,                        \
                          static_cast< ::std::uint64_t>(limit_));                             \
                if (logdef_skipped_ >= 0)                                                     \
                    ::logdef_cpp::emit_with(                                                  \
                        LOGDEF_CALL_(), static_cast< ::std::uint64_t>(logdef_skipped_),       \
                        __VA_ARGS__);                                                         \
            }                                                                                 \
        }                                                                                     \
        if (false)                                                                            \
            logdef_check_(__VA_ARGS__);                                                       \
    } while (0)

#define LOGDEF_LEVEL_(level_)                                                                 \
    __attribute__((__unused__)) static constexpr int logdef_constant_ =                       \
        __builtin_constant_p(level_) ? (level_) : -1;                                         \
    enum : int { logdef_level_ = logdef_constant_ };                                          \
    LOGDEF_CHECK_LEVEL_(static_assert);                                                       \
    const int logdef_now_ = LOGDEF_IS_CONSTANT_() ? 0 : (level_);                             \
    (void)logdef_now_

#define LOGDEF_CALL_() ::logdef_cpp::call<LOGDEF_IS_CONSTANT_()>(logdef_site_, logdef_now_)
#define LOGDEF_IS_ON_()                                                                       \
    (LOGDEF_IS_CONSTANT_()                                                                    \
         ? logdef_is_on_(logdef_site_, &::logdef_cpp::statics<logdef_here_>::state)           \
         : logdef_ask_at(logdef_site_, logdef_now_))

/* Not decltype(types_of(...)), where an argument could not be a lambda. */
#define LOGDEF_TYPES_(...) LOGDEF_TYPES_AS_(logdef_types_, __VA_ARGS__)
#define LOGDEF_TYPES_AS_(name_, ...)                                                          \
    auto name_ = false ? ::logdef_cpp::types_of(__VA_ARGS__) : nullptr;                       \
    (void)name_;                                                                              \
    static_assert(::logdef_cpp::fit<decltype(name_)>(LOGDEF_FORMAT_(__VA_ARGS__)),            \
                  "logdef: an argument does not fit the format (a range of char needs %s, "   \
                  "LOGDEF_HEX needs %p)")

#define LOGDEF_KV_(level_, pairs_, ...)                                                       \
    do {                                                                                      \
        LOGDEF_CHECK_FORMAT_(static_assert, __VA_ARGS__);                                     \
        LOGDEF_EACH_PAIR_(LOGDEF_CHECK_KEY_VALUE_, , 0, LOGDEF_STRIP_ pairs_)                 \
        LOGDEF_HERE_AT_(level_, LOGDEF_SITE_DESCRIBED,                                        \
                        LOGDEF_KV_TEXT_(LOGDEF_FORMAT_(__VA_ARGS__), pairs_));                \
        if (LOGDEF_IS_IN_()) {                                                                \
            LOGDEF_TYPES_AS_(logdef_printed_, __VA_ARGS__);                                   \
            auto logdef_values_ =                                                             \
                false ? ::logdef_cpp::types_of("" LOGDEF_EACH_PAIR_(                          \
                            LOGDEF_VALUE_OF_PAIR_, , 0, LOGDEF_STRIP_ pairs_))                \
                      : nullptr;                                                              \
            (void)logdef_values_;                                                             \
            static_assert(::logdef_cpp::are_values(decltype(logdef_values_)(nullptr)),        \
                          "logdef: a value is a number, a string, a pointer, LOGDEF_HEX or "  \
                          "a bool");                                                          \
            typedef ::logdef_cpp::key_values<decltype(logdef_printed_),                       \
                                             decltype(logdef_values_)>                        \
                logdef_types_of_call_;                                                        \
            LOGDEF_SITE_AT_(level_, LOGDEF_SITE_DESCRIBED,                                    \
                            LOGDEF_KV_TEXT_(LOGDEF_FORMAT_(__VA_ARGS__), pairs_),             \
                            logdef_types_of_call_ *);                                         \
            if (LOGDEF_IS_ON_())                                                              \
                ::logdef_cpp::emit(LOGDEF_CALL_(), __VA_ARGS__ LOGDEF_EACH_PAIR_(             \
                                       LOGDEF_VALUE_OF_PAIR_, , 0, LOGDEF_STRIP_ pairs_));    \
        }                                                                                     \
        if (false)                                                                            \
            logdef_check_(__VA_ARGS__);                                                       \
    } while (0)

#define LOGDEF_CHECK_KEY_VALUE_(at_, key_, value_)                                            \
    LOGDEF_CHECK_PAIR_(static_assert, key_)                                                   \
    static_assert(::logdef_cpp::is_key("" key_), "logdef: a key has no comma and no control " \
                                                 "character");
#define LOGDEF_VALUE_OF_PAIR_(at_, key_, value_) , value_

#define LOGDEF_HEX(pointer_, length_) ::logdef_cpp::hex(pointer_, length_)

#define LOGDEF_HERE_(level_, flags_, ...)                                                     \
    LOGDEF_CHECK_FORMAT_(static_assert, __VA_ARGS__);                                         \
    LOGDEF_HERE_AT_(level_, flags_, LOGDEF_FORMAT_(__VA_ARGS__))

#define LOGDEF_LOCATE_(level_, flags_, ...)                                                   \
    LOGDEF_TYPES_(__VA_ARGS__);                                                               \
    LOGDEF_SITE_AT_(level_, flags_, LOGDEF_FORMAT_(__VA_ARGS__), decltype(logdef_types_))

#if defined(__clang__) || defined(__code_model_large__) || \
    !(defined(__x86_64__) || defined(__aarch64__) || defined(__riscv))

#define LOGDEF_HERE_AT_(level_, flags_, text_)                                                \
    LOGDEF_LEVEL_(level_);                                                                    \
    static constexpr const char *logdef_function_ = __func__;                                 \
    struct logdef_here_ {                                                                     \
        static constexpr const char *format() { return text_; }                               \
        static constexpr const char *file() { return __FILE__; }                              \
        static constexpr const char *function() { return logdef_function_; }                  \
        static constexpr const char *module() { return LOGDEF_MODULE; }                       \
        static constexpr ::std::uint32_t line() { return __LINE__; }                          \
        static constexpr ::std::uint8_t level()                                               \
        {                                                                                     \
            return static_cast< ::std::uint8_t>(LOGDEF_SITE_LEVEL_());                        \
        }                                                                                     \
        static constexpr ::std::uint8_t flags() { return flags_; }                            \
    }

#define LOGDEF_SITE_AT_(level_, flags_, text_, ...)                                           \
    const logdef_site *const logdef_site_ =                                                   \
        &::logdef_cpp::record<logdef_here_, __VA_ARGS__>::site

#else

/*
 * gcc forgets the section of a template's static member, and refuses one section
 * for the statics of inline and other functions. So the assembler writes the
 * record, into the group of the code around it where that belongs to one.
 */

#define LOGDEF_HERE_AT_(level_, flags_, text_)                                                \
    LOGDEF_LEVEL_(level_);                                                                    \
    struct logdef_here_ {                                                                     \
    }

#define LOGDEF_SITE_AT_(level_, flags_, text_, ...)                                           \
    const logdef_site *logdef_site_;                                                          \
    __asm__(".pushsection logdef_sites,\"aw?\",%%progbits\n"                                  \
            "\t.balign 8\n"                                                                   \
            "77100:\n"                                                                        \
            "\t.8byte %c[format], %c[file], %c[function], %c[module], %c[kinds], 0, %c[state]\n" \
            "\t.4byte %c[line]\n"                                                             \
            "\t.byte %c[level], %c[args], %c[version], %c[flags]\n"                           \
            "\t.popsection\n"                                                                 \
            "\t" LOGDEF_ADDRESS_                                                              \
            : [site] "=r"(logdef_site_)                                                       \
            : [format] LOGDEF_SYMBOL_(text_),                                                 \
              [file] LOGDEF_SYMBOL_(__FILE__),                                                \
              [function] LOGDEF_SYMBOL_(__func__),                                            \
              [module] LOGDEF_SYMBOL_(static_cast<const char *>(LOGDEF_MODULE)),              \
              [kinds] LOGDEF_SYMBOL_(::logdef_cpp::kinds_of<__VA_ARGS__>::kinds),             \
              [state] LOGDEF_SYMBOL_(&::logdef_cpp::statics<logdef_here_>::state),            \
              [line] "i"(__LINE__), [level] "i"(LOGDEF_SITE_LEVEL_()),                        \
              [args] "i"(::logdef_cpp::kinds_of<__VA_ARGS__>::count),                         \
              [version] "i"(LOGDEF_SITE_VERSION), [flags] "i"(flags_))

#ifdef __x86_64__
#define LOGDEF_SYMBOL_ "i"
#define LOGDEF_ADDRESS_ "lea {77100b(%%rip), %[site]|%[site], 77100b[rip]}"
#elif defined(__aarch64__)
#define LOGDEF_SYMBOL_ "iS"
#define LOGDEF_ADDRESS_ "adrp %[site], 77100b\n\tadd %[site], %[site], :lo12:77100b"
#else
#define LOGDEF_SYMBOL_ "iS"
#define LOGDEF_ADDRESS_ "lla %[site], 77100b"
#endif

#endif

extern "C++" {
namespace logdef_cpp {
namespace {

template <class Here>
struct statics {
    static logdef_site_state state;
    static logdef_limit limit;
};

template <class Here>
logdef_site_state statics<Here>::state = {0, 0, &logdef_image, {}};

template <class Here>
logdef_limit statics<Here>::limit = {0, 0};

/* What `...` makes of an integer or an enumeration. */
template <class T, bool = std::is_enum<T>::value>
struct integer {
    typedef decltype(+std::declval<T>()) type;
};

template <class T>
struct integer<T, true> {
    typedef decltype(+std::declval<typename std::underlying_type<T>::type>()) type;
};

template <class T, bool = std::is_integral<T>::value || std::is_enum<T>::value>
struct is_signed : std::false_type {};

template <class T>
struct is_signed<T, true> : std::is_signed<typename integer<T>::type> {};

template <class T>
constexpr bool is_char()
{
    return std::is_same<T, char>::value || std::is_same<T, signed char>::value ||
           std::is_same<T, unsigned char>::value;
}

template <class T>
constexpr bool is_text_char()
{
#ifdef __cpp_char8_t
    return is_char<T>() || std::is_same<T, char8_t>::value;
#else
    return is_char<T>();
#endif
}

template <class T>
constexpr std::uint8_t pointer_kind()
{
    return is_char<typename std::remove_const<T>::type>() ? LOGDEF_KIND_CSTR
           : std::is_same<typename std::remove_const<T>::type, wchar_t>::value
               ? LOGDEF_KIND_WSTR
               : LOGDEF_KIND_POINTER;
}

/* Whether a type is a range of char in one piece: it has data() and size(). */
struct text_test {
    template <class T, class At = decltype(std::declval<const T &>().data()),
              class Size = decltype(std::declval<const T &>().size())>
    static std::integral_constant<
        bool, std::is_pointer<At>::value && std::is_integral<Size>::value &&
                  is_text_char<typename std::remove_cv<
                      typename std::remove_pointer<At>::type>::type>()>
    test(int);
    template <class T>
    static std::false_type test(...);
};

template <class T>
struct is_text : decltype(text_test::test<T>(0)) {};

/* Bytes that are shown as a hex dump. */
inline logdef_bytes hex(const void *at, std::size_t length)
{
    const logdef_bytes bytes = {at, length};
    return bytes;
}

/* Whether an argument is an object, which is not copied. */
template <class... Args>
struct has_object : std::false_type {};

template <class First, class... Rest>
struct has_object<First, Rest...>
    : std::integral_constant<bool, std::is_class<First>::value || has_object<Rest...>::value> {};

template <class... Args>
using if_scalars = typename std::enable_if<!has_object<Args...>::value, int>::type;

template <class... Args>
using if_objects =
    typename std::enable_if<has_object<typename std::decay<Args>::type...>::value, int>::type;

/* 0 if the type cannot be logged. */
template <class T>
constexpr std::uint8_t kind()
{
    return is_text<T>::value                        ? LOGDEF_KIND_BYTES
           : std::is_same<T, logdef_bytes>::value ? LOGDEF_KIND_BLOB
           : std::is_same<T, long double>::value ? LOGDEF_KIND_LONG_DOUBLE
           : std::is_same<T, float>::value || std::is_same<T, double>::value
               ? LOGDEF_KIND_DOUBLE
           : std::is_pointer<T>::value
               ? pointer_kind<typename std::remove_pointer<T>::type>()
           : std::is_same<T, std::nullptr_t>::value ? LOGDEF_KIND_POINTER
           : !(std::is_integral<T>::value || std::is_enum<T>::value) || sizeof(T) > 8
               ? 0
           : is_signed<T>::value ? LOGDEF_KIND_INT
                                 : LOGDEF_KIND_UINT;
}

template <class... Args>
struct types;

template <class... Args, if_scalars<Args...> = 0>
types<Args...> *types_of(const char *, Args...)
{
    return nullptr;
}

template <class... Args, if_objects<Args...> = 0>
types<typename std::decay<Args>::type...> *types_of(const char *, const Args &...)
{
    return nullptr;
}

template <class Types>
struct kinds_of;

template <class... Args>
struct kinds_of<types<Args...> *> {
    static_assert(sizeof...(Args) <= LOGDEF_MAX_ARGS, "logdef: takes at most 32 arguments");
    static const int count = sizeof...(Args);
    static const std::uint8_t kinds[sizeof...(Args) + 1];
};

template <class... Args>
const std::uint8_t kinds_of<types<Args...> *>::kinds[] = {kind<Args>()..., 0};

/* The kind of a value that no text prints. */
template <class T>
constexpr std::uint8_t value_kind()
{
    return std::is_same<T, bool>::value ? std::uint8_t{LOGDEF_KIND_BOOL} : kind<T>();
}

template <class T>
constexpr bool is_value()
{
    return kind<T>() != 0 && kind<T>() != LOGDEF_KIND_LONG_DOUBLE && kind<T>() != LOGDEF_KIND_WSTR;
}

constexpr bool are_values(types<> *)
{
    return true;
}

template <class First, class... Rest>
constexpr bool are_values(types<First, Rest...> *)
{
    return is_value<First>() && are_values(static_cast<types<Rest...> *>(nullptr));
}

constexpr bool is_key(const char *key)
{
    return *key == 0 || (*key != ',' && static_cast<unsigned char>(*key) >= ' ' && is_key(key + 1));
}

/* The types of what the text prints, and of key-values after it. */
template <class Printed, class Values>
struct key_values;

template <class... Printed, class... Values>
struct kinds_of<key_values<types<Printed...> *, types<Values...> *> *> {
    static_assert(sizeof...(Printed) <= LOGDEF_MAX_ARGS, "logdef: takes at most 32 arguments");
    static const int count = sizeof...(Printed) + sizeof...(Values);
    static const std::uint8_t kinds[sizeof...(Printed) + sizeof...(Values) + 1];
};

template <class... Printed, class... Values>
const std::uint8_t kinds_of<key_values<types<Printed...> *, types<Values...> *> *>::kinds[] = {
    kind<Printed>()..., value_kind<Values>()..., 0};

/* The compiler cannot check a call in which an object stands for a string; so this does,
 * where constants may be computed by loops. */
#if __cplusplus >= 201402L
struct directive {
    char conversion; /* 0: the format ends, or has another that is not checked here */
    int size; /* of an integer */
    bool is_long; /* wide strings, long doubles */
};

constexpr bool is_one_of(char c, const char *set)
{
    for (; *set != 0; set++)
        if (*set == c)
            return true;
    return false;
}

template <class T>
constexpr bool fits(directive to)
{
    const std::uint8_t passed = kind<T>();
    const bool is_integer = passed == LOGDEF_KIND_INT || passed == LOGDEF_KIND_UINT;
    switch (to.conversion) {
    case 'd': case 'i': case 'u': case 'x': case 'X': case 'o': case 'b': case 'B': case 'c':
        return is_integer && (to.size == 8) == (sizeof(T) == 8);
    case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A':
        return passed == (to.is_long ? LOGDEF_KIND_LONG_DOUBLE : LOGDEF_KIND_DOUBLE);
    case 's':
        return to.is_long ? passed == LOGDEF_KIND_WSTR
                          : passed == LOGDEF_KIND_CSTR || passed == LOGDEF_KIND_BYTES;
    case 'p':
        return passed == LOGDEF_KIND_BLOB || std::is_pointer<T>::value ||
               std::is_same<T, std::nullptr_t>::value;
    case '*':
        return is_integer && sizeof(T) <= 4;
    default:
        return to.conversion == 'n' && std::is_pointer<T>::value;
    }
}

/* Moves past the next conversion, or `*`, that takes an argument. */
struct scanner {
    const char *at;
    bool inside;

    constexpr directive next()
    {
        for (;;) {
            while (!inside && *at != 0 && *at != '%')
                at++;
            if (!inside && *at == 0)
                return {0, 0, false};
            if (!inside)
                at++;
            inside = false;
            while (is_one_of(*at, "-+ #0'I123456789."))
                at++;
            if (*at == '*') {
                at++;
                inside = true;
                return {'*', 4, false};
            }
            int longs = 0;
            bool wide = false;
            for (; is_one_of(*at, "hlqjzZtL"); at++) {
                longs += *at == 'h' ? 0 : 1;
                wide = wide || *at == 'l' || *at == 'L';
            }
            const char conversion = *at;
            if (conversion == 0)
                return {0, 0, false};
            at++;
            if (conversion != '%' && conversion != 'm')
                return {conversion, longs > 0 ? 8 : 4, wide && conversion != 'c'};
        }
    }
};

template <class... Args>
constexpr bool all_fit(const char *format, types<Args...> *)
{
    for (const char *at = format; *at != 0; at++)
        if (*at == '$')
            return true; /* By position: the reader checks. */
    scanner left = {format, false};
    bool fit = true;
    const bool each[] = {true, (fit = fits<Args>(left.next()) && fit)...};
    (void)each;
    return fit && left.next().conversion == 0;
}
#else
template <class... Args>
constexpr bool all_fit(const char *, types<Args...> *)
{
    return true;
}
#endif

template <class... Args>
constexpr bool fit_if(const char *format, types<Args...> *passed, std::true_type)
{
    return all_fit(format, passed);
}

template <class... Args>
constexpr bool fit_if(const char *, types<Args...> *, std::false_type)
{
    return true;
}

template <class... Args>
constexpr std::integral_constant<bool, has_object<Args...>::value> objects_in(types<Args...> *)
{
    return {};
}

/* Whether the arguments fit the format, as far as the compiler does not check that. */
template <class Types>
constexpr bool fit(const char *format)
{
    return fit_if(format, Types(nullptr), objects_in(Types(nullptr)));
}

template <class Here, class Types>
struct record {
    static const logdef_site site;
};

template <class Here, class Types>
LOGDEF_IN_SITES_ const logdef_site record<Here, Types>::site = {
    Here::format(),
    Here::file(),
    Here::function(),
    Here::module(),
    kinds_of<Types>::kinds,
    nullptr,
    &statics<Here>::state,
    Here::line(),
    Here::level(),
    kinds_of<Types>::count,
    LOGDEF_SITE_VERSION,
    Here::flags(),
};

template <std::uint8_t Kind>
using kind_tag = std::integral_constant<std::uint8_t, Kind>;

template <class T>
LOGDEF_INLINE_ std::uint64_t word(const T &value, kind_tag<LOGDEF_KIND_INT>)
{
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

template <class T>
LOGDEF_INLINE_ std::uint64_t word(const T &value, kind_tag<LOGDEF_KIND_UINT>)
{
    return static_cast<std::uint64_t>(value);
}

template <class T>
LOGDEF_INLINE_ std::uint64_t word(const T &value, kind_tag<LOGDEF_KIND_DOUBLE>)
{
    return logdef_double_bits_(static_cast<double>(value));
}

template <class T, std::uint8_t Kind>
LOGDEF_INLINE_ std::uint64_t word(const T &value, kind_tag<Kind>)
{
    static_assert(Kind != 0, "logdef: an argument of this type cannot be logged");
    return (std::uint64_t)(std::uintptr_t)value;
}

LOGDEF_INLINE_ std::uint64_t word(std::nullptr_t, kind_tag<LOGDEF_KIND_POINTER>)
{
    return 0;
}

LOGDEF_INLINE_ std::uint64_t word(const long double &value, kind_tag<LOGDEF_KIND_LONG_DOUBLE>)
{
    return (std::uint64_t)(std::uintptr_t)&value;
}

/* What an object's word points to. */
template <class T>
LOGDEF_INLINE_ logdef_bytes bytes_of(const T &text, kind_tag<LOGDEF_KIND_BYTES>)
{
    /* An empty view may have no place. */
    const logdef_bytes bytes = {text.size() == 0 ? static_cast<const void *>("") : text.data(),
                                static_cast<std::size_t>(text.size())};
    return bytes;
}

LOGDEF_INLINE_ logdef_bytes bytes_of(const logdef_bytes &bytes, kind_tag<LOGDEF_KIND_BLOB>)
{
    return bytes;
}

template <class T, std::uint8_t Kind>
LOGDEF_INLINE_ logdef_bytes bytes_of(const T &, kind_tag<Kind>)
{
    const logdef_bytes none = {nullptr, 0};
    return none;
}

template <class T, std::uint8_t Kind>
LOGDEF_INLINE_ std::uint64_t word_at(const T &value, const logdef_bytes *, kind_tag<Kind> tag)
{
    return word(value, tag);
}

template <class T>
LOGDEF_INLINE_ std::uint64_t word_at(const T &, const logdef_bytes *at,
                                     kind_tag<LOGDEF_KIND_BYTES>)
{
    return (std::uint64_t)(std::uintptr_t)at;
}

template <class T>
LOGDEF_INLINE_ std::uint64_t word_at(const T &, const logdef_bytes *at,
                                     kind_tag<LOGDEF_KIND_BLOB>)
{
    return (std::uint64_t)(std::uintptr_t)at;
}

template <class T>
using kind_of = kind_tag<kind<typename std::decay<T>::type>()>;

/* A call of a site: of the site's own level, or of another. */
template <bool IsConstant>
struct call {
    LOGDEF_INLINE_MEMBER_ call(const logdef_site *site_, int) : site(site_) {}
    LOGDEF_INLINE_MEMBER_ void emit(const std::uint64_t *words) const { logdef_emit(site, words); }
    const logdef_site *site;
};

template <>
struct call<false> {
    call(const logdef_site *site_, int level_) : site(site_), level(level_) {}
    void emit(const std::uint64_t *words) const { logdef_emit_at(site, level, words); }
    const logdef_site *site;
    int level;
};

template <class Call, class... Args, if_scalars<Args...> = 0>
LOGDEF_INLINE_ void emit(Call to, const char *, Args... args)
{
    const std::uint64_t words[sizeof...(Args) == 0 ? 1 : sizeof...(Args)] = {
        word(args, kind_tag<kind<Args>()>())...};
    to.emit(words);
}

template <class Call, class... Args, if_objects<Args...> = 0>
LOGDEF_INLINE_ void emit(Call to, const char *, const Args &...args)
{
    const logdef_bytes bytes[] = {bytes_of(args, kind_of<Args>())...};
    const logdef_bytes *at = bytes;
    const std::uint64_t words[] = {word_at(args, at++, kind_of<Args>())...};
    to.emit(words);
}

template <class Call, class... Args, if_scalars<Args...> = 0>
LOGDEF_INLINE_ void emit_with(Call to, std::uint64_t after, const char *,
                              Args... args)
{
    const std::uint64_t words[] = {word(args, kind_tag<kind<Args>()>())..., after};
    to.emit(words);
}

template <class Call, class... Args, if_objects<Args...> = 0>
LOGDEF_INLINE_ void emit_with(Call to, std::uint64_t after, const char *,
                              const Args &...args)
{
    const logdef_bytes bytes[] = {bytes_of(args, kind_of<Args>())...};
    const logdef_bytes *at = bytes;
    const std::uint64_t words[] = {word_at(args, at++, kind_of<Args>())..., after};
    to.emit(words);
}

/* Contexts. */

#define LOGDEF_CONTEXT_INIT_(context_, parent_, ...)                                          \
    ::logdef_cpp::init_context(context_, parent_, __VA_ARGS__)

#define LOGDEF_IN_CONTEXT_(context_, line_) LOGDEF_IN_CONTEXT_AT_(context_, line_)
#define LOGDEF_IN_CONTEXT_AT_(context_, line_)                                                \
    const ::logdef_cpp::in_context logdef_before_##line_(context_)

#define LOGDEF_WITH_(line_, ...) LOGDEF_WITH_AT_(line_, __VA_ARGS__)
#define LOGDEF_WITH_AT_(line_, ...)                                                           \
    logdef_context logdef_with_##line_;                                                       \
    ::logdef_cpp::init_context(&logdef_with_##line_, logdef_context_current(), __VA_ARGS__);  \
    LOGDEF_IN_CONTEXT_AT_(&logdef_with_##line_, line_)

/* Whether each type at an even place is that of a key, and each other that of a value. */
template <class... Types>
struct are_pairs : std::true_type {};

template <class Key>
struct are_pairs<Key> : std::false_type {};

template <class Key, class Value, class... Rest>
struct are_pairs<Key, Value, Rest...>
    : std::integral_constant<bool, kind<Key>() == LOGDEF_KIND_CSTR && kind<Value>() != 0 &&
                                       kind<Value>() != LOGDEF_KIND_BLOB &&
                                       kind<Value>() != LOGDEF_KIND_LONG_DOUBLE &&
                                       kind<Value>() != LOGDEF_KIND_WSTR &&
                                       are_pairs<Rest...>::value> {};

template <class... Args>
void init_context(logdef_context *context, const logdef_context *parent, const Args &...args)
{
    static_assert(are_pairs<typename std::decay<Args>::type...>::value,
                  "logdef: each key of a context is a string, followed by its value: a "
                  "number, a string, a pointer or a bool");
    static_assert(sizeof...(Args) <= LOGDEF_MAX_ARGS, "logdef: takes at most 16 pairs");
    const std::uint8_t kinds[] = {value_kind<typename std::decay<Args>::type>()..., 0};
    const logdef_bytes bytes[] = {bytes_of(args, kind_of<Args>())...};
    const logdef_bytes *at = bytes;
    const std::uint64_t words[] = {word_at(args, at++, kind_of<Args>())...};
    logdef_context_init(context, parent, kinds, words, static_cast<int>(sizeof...(Args)));
}

struct in_context {
    explicit in_context(const logdef_context *context) : before(logdef_context_enter(context)) {}
    in_context(const in_context &) = delete;
    in_context &operator=(const in_context &) = delete;
    ~in_context() { (void)logdef_context_enter(before); }
    const logdef_context *before;
};

/* Ends a span, if it began. */
template <class End>
struct span {
    span(bool began_, End end_) : began(began_), end(end_) {}
    span(span &&other) : began(other.began), end(other.end) { other.began = false; }
    span(const span &) = delete;
    span &operator=(const span &) = delete;
    ~span()
    {
        if (began)
            end();
    }
    bool began;
    End end;
};

template <class End>
span<End> span_of(bool began, End end)
{
    return span<End>(began, end);
}

} /* namespace */
} /* namespace logdef_cpp */

/* With an object among them, the arguments are checked by logdef_cpp::fit. */
template <class... Args, ::logdef_cpp::if_objects<Args...> = 0>
static inline void logdef_check_(const char *, const Args &...)
{
}
} /* extern "C++" */

#pragma GCC diagnostic pop

#endif /* __cplusplus */

#endif /* LOGDEF_H */
