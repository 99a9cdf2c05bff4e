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
