/* What is found and made when a log is opened: what becomes of what its path led to, who may read and write its
 * files, and what no stream can do. */
#include <logdef.h>

#include "stories.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

static logdef_status status = LOGDEF_STATUS;

/* The inode of a file, or of a link itself. */
static ino_t inode(const char *path)
{
    struct stat stat;

    MUST(lstat(path, &stat) == 0);
    return stat.st_ino;
}

static int is_link(const char *path)
{
    struct stat stat;

    return lstat(path, &stat) == 0 && S_ISLNK(stat.st_mode);
}

/* How many names an open file has. */
static int links(int fd)
{
    struct stat stat;

    MUST(fstat(fd, &stat) == 0);
    return (int)stat.st_nlink;
}

/* How many files and links the log's directory has. */
static int entries(void)
{
    char directory[4096];
    int count = 0;

    snprintf(directory, sizeof directory, "%s", log_path);
    *strrchr(directory, '/') = 0;
    DIR *open = opendir(directory);
    MUST(open != NULL);
    while (readdir(open) != NULL)
        count++;
    closedir(open);
    return count;
}

static void puts_into(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    MUST(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Opens a log, looks at its state, logs a record and closes it. */
static void opens(const char *path, int sink, uint64_t file_size)
{
    logdef_options options = LOGDEF_OPTIONS;

    options.sink = sink;
    options.file_size = file_size;
    status = (logdef_status)LOGDEF_STATUS;
    MUST(logdef_open_with(path, &options) == 0);
    MUST(logdef_state(&status) == 0 && status.is_open);
    LOGDEF(INFO, "%d", 0);
    logdef_close();
}

/* What the state said, but for a file that was renamed. */
#define FOUND(existing_) \
    MUST(status.existing == LOGDEF_EXISTING_##existing_ && status.previous[0] == 0)

/* It said that the file which had this inode got another name, which it has. */
#define RENAMED(inode_) \
    MUST(status.existing == LOGDEF_EXISTING_RENAMED && inode(status.previous) == (inode_))

/* A rotated log meets a file at its path, and then the link that it made itself. */
static void finds_rotated(int sink)
{
    char newest[4096] = "";
    ino_t before = inode(log_path);
    int some;

    opens(log_path, sink, 1 << 17);
    RENAMED(before);
    MUST(is_link(log_path) && readlink(log_path, newest, sizeof newest - 1) > 0);
    before = inode(status.path);
    some = entries();
    snprintf(newest, sizeof newest, "%s", status.path);
    opens(log_path, sink, 1 << 17);
    FOUND(RELINKED);
    MUST(is_link(log_path) && strcmp(status.path, newest) != 0);
    MUST(inode(newest) == before && entries() == some + 1);
}

/* A log in a new file each time meets nothing, a log, an empty file and a link of each kind. */
static void finds_mapped(void)
{
    const int sink = LOGDEF_SINK_MAPPED;
    char beside[4096], text[4096];
    ino_t before;
    int some, empty;

    opens(log_path, sink, 0);
    FOUND(NOTHING);
    before = inode(log_path);
    opens(log_path, sink, 0);
    RENAMED(before);
    MUST(inode(log_path) != before);

    MUST(unlink(log_path) == 0);
    puts_into(log_path, "");
    empty = open(log_path, O_RDONLY);
    some = entries();
    opens(log_path, sink, 0);
    FOUND(REMOVED);
    MUST(entries() == some && links(empty) == 0);

    finds_rotated(sink);
    /* The newest file keeps the name that the link led to. */
    snprintf(beside, sizeof beside, "%s", status.path);
    before = inode(beside);
    some = entries();
    opens(log_path, sink, 0);
    FOUND(RELINKED);
    MUST(!is_link(log_path) && inode(beside) == before && entries() == some);

    /* The same where a user's link leads. */
    snprintf(text, sizeof text, "%s.text", log_path);
    snprintf(beside, sizeof beside, "%s.link", log_path);
    MUST(symlink(text, beside) == 0);
    opens(beside, sink, 0);
    FOUND(NOTHING);
    puts_into(text, "no log\n");
    before = inode(text);
    opens(beside, sink, 0);
    RENAMED(before);
    MUST(is_link(beside) && strncmp(status.previous, text, strlen(text)) == 0);
}

/* A log that is appended meets the same. */
static void finds_appended(void)
{
    const int sink = LOGDEF_SINK_APPEND;
    ino_t before;

    opens(log_path, sink, 0);
    FOUND(NOTHING);
    before = inode(log_path);
    opens(log_path, sink, 0);
    FOUND(APPENDED);
    MUST(inode(log_path) == before && status.file_bytes > 0);

    puts_into(log_path, "");
    before = inode(log_path);
    opens(log_path, sink, 0);
    FOUND(NOTHING);
    MUST(inode(log_path) == before);

    finds_rotated(sink);
    /* Without a size of files it is added to where the link leads. */
    before = inode(status.path);
    opens(log_path, sink, 0);
    FOUND(APPENDED);
    MUST(is_link(log_path));
}

/* What is no file, opened after a log that got a file out of its way. */
static void finds_streams(void)
{
    char path[64];
    int ends[2];

    puts_into(log_path, "no log\n");
    opens(log_path, LOGDEF_SINK_MAPPED, 0);
    MUST(status.existing == LOGDEF_EXISTING_RENAMED);
    opens("/dev/null", LOGDEF_SINK_AUTO, 0);
    FOUND(NOTHING);
    MUST(pipe(ends) == 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    opens(path, LOGDEF_SINK_AUTO, 0);
    FOUND(NOTHING);
    MUST(status.path[0] == 0);
}

/* Ends the program where a file has another mode or group. */
#define IS(path_, mode_, group_)                                                 \
    do {                                                                         \
        struct stat stat;                                                        \
        MUST(lstat(path_, &stat) == 0 && S_ISREG(stat.st_mode));                 \
        MUST((stat.st_mode & 07777) == (mode_) && stat.st_gid == (group_));      \
    } while (0)

/* A log in one file, which is renamed and opened again as logrotate has it. */
static void one_file_has(logdef_options *options, mode_t mode, gid_t group)
{
    char aside[4096];

    options->file_size = 0;
    snprintf(aside, sizeof aside, "%s-1", log_path);
    MUST(logdef_open_with(log_path, options) == 0);
    LOGDEF(INFO, "%d", 0);
    IS(log_path, mode, group);
    MUST(rename(log_path, aside) == 0 && logdef_reopen() == 0);
    LOGDEF(INFO, "%d", 1);
    LOGDEF(INFO, "%d", 2);
    IS(log_path, mode, group);
    logdef_close();
    MUST(unlink(log_path) == 0 && unlink(aside) == 0);
}

/* A log of many files. */
static void each_file_has(logdef_options *options, mode_t mode, gid_t group)
{
    char path[4096];
    int number;

    options->file_size = 1 << 17;
    MUST(logdef_open_with(log_path, options) == 0);
    for (int i = 0; i < 20000; i++)
        LOGDEF(INFO, "record %d", i);
    logdef_close();
    MUST(unlink(log_path) == 0);
    for (number = 1;; number++) {
        snprintf(path, sizeof path, "%s.%06d", log_path, number);
        if (access(path, F_OK) != 0)
            break;
        IS(path, mode, group);
        MUST(unlink(path) == 0);
    }
    MUST(number > 3);
}

static void has(logdef_options *options, mode_t mode, gid_t group)
{
    one_file_has(options, mode, group);
    each_file_has(options, mode, group);
}

/* Its files have the mode and the group that were asked for. */
static void modes(void)
{
    logdef_options options = LOGDEF_OPTIONS;
    const int is_root = geteuid() == 0;

    options.sink = atoi(more[0]);
    umask(0177);
    has(&options, 0600, getegid());
    /* Its files could not be opened again. */
    umask(0777);
    has(&options, 0600, getegid());
    options.file_mode = 0640;
    has(&options, 0640, getegid());
    umask(0027);
    options.file_mode = 0;
    options.use_umask = 1;
    has(&options, 0640, getegid());
    options.file_mode = 0664;
    options.file_group = 12345;
    /* Only root may give a file to any group. */
    has(&options, is_root ? 0640 : 0600, is_root ? 12345 : getegid());
}

static void is_refused(logdef_options options, int sink)
{
    options.sink = sink;
    errno = 0;
    MUST(logdef_open_with(log_path, &options) == -1 && errno == EINVAL);
}

/* A stream is not cut into files, and not mapped; without a word of that it is opened all the same. */
static void refuses(void)
{
    const int sinks[] = {LOGDEF_SINK_AUTO, LOGDEF_SINK_APPEND, LOGDEF_SINK_MAPPED};
    const logdef_options none = LOGDEF_OPTIONS;
    logdef_options sized = none, aged = none, recorder = none, kept = none;

    sized.file_size = 1 << 17;
    aged.file_age = 3600;
    recorder.flight_recorder = 1 << 20;
    kept.file_size = 1 << 17;
    kept.files = 4;
    for (int i = 0; i < 3; i++) {
        is_refused(sized, sinks[i]);
        is_refused(aged, sinks[i]);
        is_refused(recorder, sinks[i]);
        is_refused(kept, sinks[i]);
    }
    is_refused(none, LOGDEF_SINK_MAPPED);
    opens(log_path, LOGDEF_SINK_APPEND, 0);
    FOUND(NOTHING);
    MUST(!status.is_mapped && status.error == 0 && status.dropped == 0);
}

int main(int argc, char **argv)
{
    static const struct story stories[] = {
        {"finds_mapped", finds_mapped},   {"finds_appended", finds_appended},
        {"finds_streams", finds_streams}, {"modes", modes},
        {"refuses", refuses},             {NULL, NULL},
    };

    return run_story(stories, argc, argv);
}
