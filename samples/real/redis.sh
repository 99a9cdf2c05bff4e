#!/usr/bin/env bash
# Moves redis over to logdef beside its own text log, loads it with pipelines, background saves and
# rewrites of its append-only file, kills it with SIGKILL, and compares the two logs line by line.
#
#     samples/real/redis.sh [ROUNDS]        3 rounds by default
. "$(dirname "$0")/common.sh"
rounds=${1:-3}

install_logdef
redis=$(source_of redis)
cd "$redis/src"

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
    if (logdef_open(getenv("REDIS_LOGDEF")) != 0) { perror("logdef_open"); return 1; }' server.c
# Behind the objects that use it: some linkers drop a library that nothing before it needs.
sed -i "s,^FINAL_LIBS=.*,& $(pkg-config --libs logdef)," Makefile
{
    # The libraries first: redis's own rules do not wait for them when several jobs run.
    make -C ../deps -s hiredis linenoise lua hdr_histogram &&
        make -C .. -s MALLOC=libc OPT=-O2 CFLAGS="$(pkg-config --cflags logdef)" \
            redis-server redis-cli redis-benchmark
} >"$work/redis-build.log" 2>&1 ||
    { tail "$work/redis-build.log"; fail "redis does not build"; }

# The children name themselves after the server's socket.
have_ended() {
    ! pgrep -f "redis-.*$at/socket"
}

for round in $(seq "$rounds"); do
    at=$work/redis-$round
    rm -rf "$at" && mkdir -p "$at/log" && cd "$at"
    REDIS_LOGDEF=$at/log/redis.log "$redis/src/redis-server" --port 0 --unixsocket "$at/socket" --loglevel debug \
        --logfile "$at/redis.txt" --dir "$at" --appendonly yes --save "" &
    server=$!
    until_true 20 "$redis/src/redis-cli" -s "$at/socket" ping
    "$redis/src/redis-benchmark" -s "$at/socket" -t set,get -n 10000000 -P 16 -q >/dev/null 2>&1 &
    load=$!
    for save in 1 2 3; do
        "$redis/src/redis-cli" -s "$at/socket" bgsave >/dev/null
        sleep 0.7
        "$redis/src/redis-cli" -s "$at/socket" bgrewriteaof >/dev/null
        sleep 0.7
    done
    kill -9 $server
    wait $server 2>/dev/null || true
    kill $load 2>/dev/null || true
    wait $load 2>/dev/null || true
    # Children of the last save may still be finishing.
    until_true 60 have_ended

    "$logdef" check log >"$at/check.txt" || fail "check: $(tail -n 3 "$at/check.txt")"
    "$logdef" view log -o json >"$at/view.json"
    text=$(grep -c 'command .* of client' redis.txt || true)
    logged=$(grep -c '"command %s of client %llu"\|"message":"command ' "$at/view.json" || true)
    [ "$text" -gt 1000 ] || fail "only $text commands were logged"
    # The record is written before the text: a kill between the two leaves one more record.
    [ $((logged - text)) -ge 0 ] && [ $((logged - text)) -le 1 ] ||
        fail "round $round: $logged commands in the log, $text in the text"
    # Lines of forked children have the role C and another process.
    children=$(grep '^[0-9]*:C ' redis.txt | grep -vc "^$server:" || true)
    [ "$children" -gt 0 ] || fail "no child logged anything"
    ours=$(grep -vc "\"pid\":$server," "$at/view.json" || true)
    expect "round $round: $logged commands, lines of forked children" "$ours" "$children"
done
echo "1 passed, 0 failed"
