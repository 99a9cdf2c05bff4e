# What the scripts about redis share: its log calls become logdef's beside its own text log. Sourced in
# its folder `src`, after common.sh.

# One macro carries all of redis's log calls. Its levels are LL_DEBUG to LL_WARNING, some of them
# computed; each becomes one call of a constant level.
macro='\
#include <logdef.h>\
#define serverLogdef(level, ...) do { switch ((level) \& 0xff) {\\\
    case LL_DEBUG: LOGDEF(TRACE, __VA_ARGS__); break;\\\
    case LL_VERBOSE: LOGDEF(DEBUG, __VA_ARGS__); break;\\\
    case LL_NOTICE: LOGDEF(INFO, __VA_ARGS__); break;\\\
    default: LOGDEF(WARN, __VA_ARGS__); } } while (0)'
sed -i -e "/^#define serverLog(level, \.\.\.)/{
i $macro
}" -e 's/^        _serverLog(level, __VA_ARGS__);/        serverLogdef(level, __VA_ARGS__);&/' server.h
grep -q 'serverLogdef(level, __VA_ARGS__); *_serverLog' server.h || fail "the macro serverLog was not found"
# Calls with commands in them, so that there is something to count.
sed -i 's/^int processCommand(client \*c) {/&\n    serverLog(LL_DEBUG, "command %s of client %llu", (char *)c->argv[0]->ptr, (unsigned long long)c->id);/' server.c
sed -i '/^int main(int argc, char \*\*argv) {/a\
    logdef_options logdef_how = LOGDEF_OPTIONS; logdef_how.fatal_signals = 1;\
    if (logdef_open_with(getenv("REDIS_LOGDEF"), \&logdef_how) != 0) { perror("logdef_open"); return 1; }' server.c

# Names and types: a message that has values is written with them as key-values too, and each record is
# made in the context of a role, which redis's own text has as a letter.
name_values() {
    sed -i -e '/^#define serverLogdef(/{
i /* As serverLog, of a message in parentheses, with key-values. */\
#define serverLogWith(level, message, ...) do {\\\
    if (((level)\&0xff) < server.verbosity) break;\\\
    serverLogdefAs(LOGDEF_KV, level, message, __VA_ARGS__);\\\
    _serverLog(level, serverLogText message); } while (0)\
#define serverLogText(...) __VA_ARGS__\
const logdef_context *logdefRole(void);\
#define serverLogdef(level, ...) serverLogdefAs(LOGDEF, level, __VA_ARGS__)
s/.*/#define serverLogdefAs(call, level, ...) do { LOGDEF_IN_CONTEXT(logdefRole()); switch ((level) \& 0xff) {\\/
}' -e '/^#define serverLogdefAs/,/while (0)/ s/\bLOGDEF(/call(/' server.h
    sed -i '/^int main(int argc, char \*\*argv) {/i\
static logdef_context logdefRoles[4];\
const logdef_context *logdefRole(void) {\
    return &logdefRoles[server.sentinel_mode ? 0 : getpid() != server.pid ? 1 : server.masterhost ? 2 : 3];\
}' server.c
    sed -i '/^int main(int argc, char \*\*argv) {/a\
    LOGDEF_CONTEXT_INIT(\&logdefRoles[0], NULL, "role", "X");\
    LOGDEF_CONTEXT_INIT(\&logdefRoles[1], NULL, "role", "C");\
    LOGDEF_CONTEXT_INIT(\&logdefRoles[2], NULL, "role", "S");\
    LOGDEF_CONTEXT_INIT(\&logdefRoles[3], NULL, "role", "M");' server.c
    # with FILE BEGIN PAIRS: the message that begins so.
    with() {
        sed -i "/^ *serverLog(/{ :more; /;\$/!{ N; b more }; /$2/ s/serverLog(\([^\"]*\),\s*\(\".*\));/serverLogWith(\1, (\2), $3);/ }" "$1"
        grep -qF "$3);" "$1" || fail "$1 has no message '$2' to name the values of"
    }
    with server.c 'command %s of' '"command", (char *)c->argv[0]->ptr, "client", c->id, "argc", c->argc'
    with rdb.c 'Background saving started' '"child", (long)childpid'
    with aof.c 'Background append only file rewriting started' '"child", (long)childpid'
    with childinfo.c 'Fork CoW' '"what", pname, "bytes", cow, "peak_bytes", peak_cow'
}

build_redis() {
    # Behind the objects that use it: some linkers drop a library that nothing before it needs.
    sed -i "s,^FINAL_LIBS=.*,& $(pkg-config --libs logdef)," Makefile
    {
        # The libraries first: redis's own rules do not wait for them when several jobs run.
        make -C ../deps -s hiredis linenoise lua hdr_histogram &&
            make -C .. -s MALLOC=libc OPT=-O2 CFLAGS="$(pkg-config --cflags logdef)" \
                redis-server redis-cli redis-benchmark
    } >"$work/redis-build.log" 2>&1 ||
        { tail "$work/redis-build.log"; fail "redis does not build"; }
}
