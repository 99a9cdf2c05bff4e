#!/usr/bin/env bash
# Moves redis over to logdef beside its own text log, loads it with pipelines, background saves and
# rewrites of its append-only file, kills it with SIGKILL, and compares the two logs line by line, and by
# the names and types of values.
#
#     samples/real/redis.sh [ROUNDS]        3 rounds by default
. "$(dirname "$0")/common.sh"
rounds=${1:-3}

command -v python3 >/dev/null || skip "python3 is not installed"
install_logdef
redis=$(source_of redis)
cd "$redis/src"

. "$real/redis_to_logdef.sh"
name_values
build_redis

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
    python3 "$real/redis_compare.py" $server redis.txt view.json || fail "round $round: the logs differ"
    # What a machine asks for by name.
    children=$(grep -c '^[0-9]*:C ' redis.txt || true)
    expect "round $round: records with the role of a child" "$("$logdef" view log -w role=C | wc -l)" "$children"
    saves=$(grep -c 'Background saving started by pid' redis.txt)
    expect "round $round: records with a child" "$("$logdef" view log -w 'child>1 and role=M' -g saving | wc -l)" "$saves"
done

# A person on call: the level of one file is raised from outside and seen by who follows, the server is killed
# by a signal, and its last records come out of the core with the stack.
at=$work/redis-ctl
rm -rf "$at" && mkdir -p "$at/log" && cd "$at"
ulimit -c unlimited
REDIS_LOGDEF=$at/log/redis.log LOGDEF_CTL=1 LOGDEF=info "$redis/src/redis-server" --port 0 --unixsocket "$at/socket" \
    --loglevel debug --crash-log-enabled no --logfile "$at/redis.txt" --dir "$at" --save "" &
server=$!
until_true 20 "$redis/src/redis-cli" -s "$at/socket" ping
# A person who watches reads no million records a second.
while "$redis/src/redis-cli" -s "$at/socket" incr requests; do sleep 0.02; done >/dev/null 2>&1 &
load=$!
! "$logdef" view log 2>/dev/null | grep -q 'command .* of client' || fail "commands are logged at level info"
shows_what_is_raised log "$server" 'info,server.c=trace' 'server.c:.*command [a-zA-Z]* of client'
kill -SEGV $server
wait $server 2>/dev/null || true
kill $load 2>/dev/null || true
wait $load 2>/dev/null || true
core=$(core_of $server)
if [ -n "$core" ]; then
    "$logdef" core --tail 5 "$core" >core.txt 2>core.err || fail "core: $(cat core.err)"
    grep -q "(pid $server) was killed by SIGSEGV" core.txt || fail "the core does not say how: $(cat core.txt)"
    grep -q '#[0-9]* .*aeMain\|#[0-9]* *main at' core.txt || fail "there is no stack of redis: $(cat core.txt)"
    grep -q 'command [a-zA-Z]* of client' core.txt || fail "the last records are missing: $(cat core.txt)"
    echo "the last records and the stack of the core:"
    cat core.txt
else
    echo "no core: $(cat /proc/sys/kernel/core_pattern)"
fi
echo "1 passed, 0 failed"
