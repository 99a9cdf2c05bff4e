/* Logging structured records to the log service, from C11 or C++17: one call for a record, which never
 * waits. Header only; include it where you like.
 *
 *     struct logdef_serve log;
 *     if (logdef_serve_open(&log, "/run/user/1000/logdef") == 0) {
 *         const struct logdef_serve_arg args[] = {
 *             logdef_serve_u64("port", 8080),
 *             logdef_serve_text("host", "example.org"),
 *         };
 *         logdef_serve_write(&log, LOGDEF_SERVE_INFO, "listening", args, 2);
 *         logdef_serve_close(&log);
 *     }
 *
 * A record that cannot be sent at once is dropped and counted; the count goes with the next record that
 * is sent. A record has at most 15 arguments and 32760 bytes: of what passes that, a text is cut and ends
 * with "...", and other arguments are left out; the argument `left_out` counts them, and `cut` such records. Any number of threads may write to one connection. Not for signal handlers. */
#ifndef LOGDEF_SERVE_H
#define LOGDEF_SERVE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sockets and clocks in strict C11: include this header first, or define it */
#endif
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    LOGDEF_SERVE_TRACE = 0x10,
    LOGDEF_SERVE_DEBUG = 0x20,
    LOGDEF_SERVE_INFO = 0x30,
    LOGDEF_SERVE_WARN = 0x40,
    LOGDEF_SERVE_ERROR = 0x50,
    LOGDEF_SERVE_FATAL = 0x60,
    /* The limits of a record. */
    LOGDEF_SERVE_MAX_BYTES = 4095 * 8,
    LOGDEF_SERVE_MAX_ARGS = 15,
    LOGDEF_SERVE_MAX_NAME = 256
};

/* A connection. */
struct logdef_serve {
    int fd;
    uint64_t dropped; /* records not sent since the last that was */
    uint64_t cut;     /* records so far of which something was cut or left out */
};

/* A named value; made by the functions below. The numbers are the types of the format. */
struct logdef_serve_arg {
    const char *name;
    int type;
    uint64_t bits; /* of numbers and booleans */
    const char *text;
};

static inline struct logdef_serve_arg logdef_serve_make(const char *name, int type, uint64_t bits,
                                                        const char *text) {
    struct logdef_serve_arg arg;
    arg.name = name;
    arg.type = type;
    arg.bits = bits;
    arg.text = text;
    return arg;
}

static inline struct logdef_serve_arg logdef_serve_i64(const char *name, int64_t value) {
    return logdef_serve_make(name, 3, (uint64_t)value, NULL);
}

static inline struct logdef_serve_arg logdef_serve_u64(const char *name, uint64_t value) {
    return logdef_serve_make(name, 4, value, NULL);
}

static inline struct logdef_serve_arg logdef_serve_f64(const char *name, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return logdef_serve_make(name, 5, bits, NULL);
}

/* Text that is not UTF-8 is sent with `?` for every byte that is not ASCII. */
static inline struct logdef_serve_arg logdef_serve_text(const char *name, const char *value) {
    return logdef_serve_make(name, 6, 0, value ? value : "(null)");
}

static inline struct logdef_serve_arg logdef_serve_bool(const char *name, int value) {
    return logdef_serve_make(name, 9, value != 0, NULL);
}

/* Connects to the service in `directory`. Returns 0, or -1 with errno set: EPERM if it is of another user, who
 * would get what is logged. */
static inline int logdef_serve_open(struct logdef_serve *log, const char *directory) {
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    log->dropped = 0;
    log->cut = 0;
    log->fd = -1;
    int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/log", directory);
    if (length < 0 || (size_t)length >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    struct ucred service;
    socklen_t size = sizeof service;
    int failed = connect(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
                 getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &service, &size) != 0;
    if (!failed && service.uid != 0 && geteuid() != 0 && service.uid != geteuid()) {
        failed = 1;
        errno = EPERM;
    }
    if (failed) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    log->fd = fd;
    return 0;
}

static inline void logdef_serve_close(struct logdef_serve *log) {
    if (log->fd >= 0)
        close(log->fd);
    log->fd = -1;
}

/* A record that is being written. */
struct logdef_serve_record {
    unsigned char bytes[LOGDEF_SERVE_MAX_BYTES];
    size_t length;
    unsigned args;
};

static inline void logdef_serve_put_word(unsigned char *to, uint64_t word) {
    for (int byte = 0; byte < 8; byte++)
        to[byte] = (unsigned char)(word >> (8 * byte));
}

static inline size_t logdef_serve_padded(size_t length) { return (length + 7) / 8 * 8; }

/* Whether `length` bytes are UTF-8: no overlong form, no surrogate, nothing above U+10FFFF. */
static inline int logdef_serve_is_utf8(const char *text, size_t length) {
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;
    while (at < end) {
        unsigned char first = *at++;
        if (first < 0x80)
            continue;
        if (first < 0xc2 || first > 0xf4)
            return 0;
        int more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
        if (end - at < more)
            return 0;
        unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
        unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
        if (*at < low || *at > high)
            return 0;
        for (at++; --more > 0; at++)
            if ((*at & 0xc0) != 0x80)
                return 0;
    }
    return 1;
}

/* Copies text with zeros up to the next word. */
static inline void logdef_serve_put_text(unsigned char *to, const char *text, size_t length) {
    int whole = logdef_serve_is_utf8(text, length);
    memset(to, 0, logdef_serve_padded(length));
    for (size_t byte = 0; byte < length; byte++)
        to[byte] = (unsigned char)(whole || (unsigned char)text[byte] < 0x80 ? text[byte] : '?');
}

/* Bytes of text that an argument of this name can have in `room` bytes. */
static inline size_t logdef_serve_text_room(size_t room, size_t name) {
    size_t taken = 8 + logdef_serve_padded(name);
    size_t left = room > taken ? (room - taken) / 8 * 8 : 0;
    return left > 0x7fff ? 0x7fff : left;
}

/* Appends an argument within `room` bytes of the record and `most` arguments. A text that is too long is cut.
 * Returns 0, 1 if it was cut, or -1 if the argument does not fit at all. */
static inline int logdef_serve_put_arg(struct logdef_serve_record *record,
                                       const struct logdef_serve_arg *arg, size_t room,
                                       unsigned most) {
    size_t name = arg->name ? strlen(arg->name) : 0;
    size_t text = arg->type == 6 ? strlen(arg->text) : 0;
    if (name == 0 || name > LOGDEF_SERVE_MAX_NAME || record->args >= most)
        return -1;
    room = room > record->length ? room - record->length : 0;
    size_t most_text = logdef_serve_text_room(room, name);
    int cut = text > most_text;
    if (cut) {
        if (most_text < 8)
            return -1;
        /* Whole characters, and "..." behind them. */
        text = most_text - 3;
        while (text > 0 && ((unsigned char)arg->text[text] & 0xc0) == 0x80)
            text--;
    }
    size_t shown = cut ? text + 3 : text;
    size_t value = arg->type == 6 ? logdef_serve_padded(shown) : arg->type == 9 ? 0 : 8;
    size_t size = 8 + logdef_serve_padded(name) + value;
    if (size > room)
        return -1;
    uint64_t varies = arg->type == 6 ? (shown ? 0x8000 | shown : 0) : arg->type == 9 ? arg->bits : 0;
    unsigned char *to = record->bytes + record->length;
    logdef_serve_put_word(to, (uint64_t)arg->type | (uint64_t)(size / 8) << 4 |
                                  (uint64_t)(0x8000 | name) << 16 | varies << 32);
    logdef_serve_put_text(to + 8, arg->name, name);
    to += 8 + logdef_serve_padded(name);
    if (arg->type == 6) {
        memset(to, 0, value);
        logdef_serve_put_text(to, arg->text, text);
        if (cut)
            memcpy(to + text, "...", 3);
    } else if (arg->type != 9)
        logdef_serve_put_word(to, arg->bits);
    record->length += size;
    record->args++;
    return cut;
}

/* Bytes of an argument as it is. */
static inline size_t logdef_serve_size(const struct logdef_serve_arg *arg) {
    size_t name = arg->name ? strlen(arg->name) : 0;
    return 16 + logdef_serve_padded(name) +
           (arg->type == 6 ? logdef_serve_padded(strlen(arg->text)) : 0);
}

/* Sends a record with process, thread, message and `count` arguments. Returns 0, or -1 with errno set if
 * it was dropped. */
static inline int logdef_serve_write(struct logdef_serve *log, unsigned char severity,
                                     const char *message, const struct logdef_serve_arg *args,
                                     size_t count) {
    struct logdef_serve_record record;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    record.length = 16;
    record.args = 0;
    uint64_t dropped = __atomic_exchange_n(&log->dropped, 0, __ATOMIC_RELAXED);
    struct logdef_serve_arg own[4];
    own[0] = logdef_serve_u64("pid", (uint64_t)getpid());
    own[1] = logdef_serve_u64("tid", (uint64_t)syscall(SYS_gettid));
    own[2] = logdef_serve_u64(dropped ? "num_dropped" : NULL, dropped);
    own[3] = logdef_serve_text("message", message);
    /* The message leaves room for the arguments, up to half of the record. */
    const size_t whole = sizeof record.bytes;
    const size_t counted = 32; /* of `left_out` */
    size_t others = 0;
    for (size_t arg = 0; arg < count; arg++)
        others += logdef_serve_size(&args[arg]);
    int fits = count <= 11 && logdef_serve_size(&own[3]) + others + 200 <= whole;
    size_t room = fits ? whole : whole - counted;
    unsigned most = fits ? LOGDEF_SERVE_MAX_ARGS : LOGDEF_SERVE_MAX_ARGS - 1;
    uint64_t left_out = 0;
    int cut = 0;
    for (size_t arg = 0; arg < 3; arg++)
        logdef_serve_put_arg(&record, &own[arg], room, most);
    size_t rest = others < whole / 2 ? others : whole / 2;
    cut |= logdef_serve_put_arg(&record, &own[3], fits ? room : room - rest, most);
    for (size_t arg = 0; arg < count; arg++) {
        /* A text has its share of what is left, so that the texts after it have theirs. */
        size_t end = room;
        if (!fits && args[arg].type == 6 && room > record.length)
            end = record.length + (room - record.length) / (count - arg);
        int put = logdef_serve_put_arg(&record, &args[arg], end, most);
        left_out += put < 0;
        cut |= put > 0;
    }
    if (left_out > 0) {
        struct logdef_serve_arg said = logdef_serve_u64("left_out", left_out);
        logdef_serve_put_arg(&record, &said, whole, LOGDEF_SERVE_MAX_ARGS);
    }
    if (cut || left_out > 0)
        __atomic_fetch_add(&log->cut, 1, __ATOMIC_RELAXED);
    logdef_serve_put_word(record.bytes, 9 | (uint64_t)(record.length / 8) << 4 |
                                            (uint64_t)severity << 56);
    logdef_serve_put_word(record.bytes + 8,
                          (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    ssize_t sent = send(log->fd, record.bytes, record.length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent == (ssize_t)record.length)
        return 0;
    __atomic_fetch_add(&log->dropped, dropped + 1, __ATOMIC_RELAXED);
    return -1;
}

#endif
