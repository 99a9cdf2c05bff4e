#!/usr/bin/env bash
# A redis that dies of a bug of its own, and what docs/on-call.md shows of it: one check of redis is
# taken out, a load runs until one client asks what that check refused, and the cause is looked for
# in the log alone, by `logdef view`, `logdef browse` and `logdef report`.
#
#     samples/real/on_call.sh        texts and pictures into target/real/on-call
. "$(dirname "$0")/common.sh"

command -v tmux >/dev/null || skip "tmux is not installed"
command -v chromium >/dev/null || skip "chromium is not installed"
install_logdef
redis=$(source_of redis)
cd "$redis/src"
. "$real/redis_to_logdef.sh"

# The bug: the length of a key that is not there.
sed -i '/^void strlenCommand(/,/^}/ {
    /^    if ((o = lookupKeyReadOrReply/ { N; s/.*/    o = lookupKeyRead(c->db,c->argv[1]);/ }
}' t_string.c
grep -q 'o = lookupKeyRead(c->db,c->argv\[1\]);' t_string.c || fail "strlenCommand is another one"
build_redis

at=$work/on-call
rm -rf "$at" && mkdir -p "$at/log" && cd "$at"
REDIS_LOGDEF=$at/log/redis.log "$redis/src/redis-server" --port 0 --unixsocket "$at/socket" --loglevel debug \
    --crash-log-enabled no --logfile "$at/redis.txt" --dir "$at" --save "" 2>/dev/null &
server=$!
until_true 20 "$redis/src/redis-cli" -s "$at/socket" ping
"$redis/src/redis-benchmark" -s "$at/socket" -t set,get -n 20000 -c 8 -q >/dev/null 2>&1
"$redis/src/redis-cli" -s "$at/socket" strlen session:1041 >/dev/null 2>&1 || true
status=0
wait $server 2>/dev/null || status=$?
expect "status of the server, killed by SIGSEGV" "$status" 139

# One: the last records.
"$logdef" view --tail 5 log >view.txt 2>view.err
grep -q 'strlenCommand' view.txt || fail "view does not show the function: $(cat view.txt)"
grep -q 'command strlen of client' view.txt || fail "view does not show the command: $(cat view.txt)"

# Two: the browser, at the end of the log, with the stack of the last record.
terminal=on-call-$$
trap 'tmux -L $terminal kill-server 2>/dev/null || true' EXIT
tmux -L $terminal -f /dev/null new-session -d -x 110 -y 34 "exec '$logdef' browse '$at/log'"
shows() { tmux -L $terminal capture-pane -p | grep -q -- "$1"; }
until_true 60 shows 'command '
tmux -L $terminal send-keys G
until_true 60 shows 'fatal signal 11'
tmux -L $terminal send-keys Enter
until_true 60 shows 'strlenCommand'
tmux -L $terminal capture-pane -p >browse.txt
tmux -L $terminal send-keys q

# Three: the report.
"$logdef" report log -o report.html 2>/dev/null
grep -q 'strlenCommand' report.html || fail "the report does not show the function"
# The picture is for everybody: without the folders of this machine.
sed "s,$work/sources,/srv,g; s,$at,/srv/redis,g" report.html >picture.html
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,1000 \
    --screenshot="$at/report.png" "file://$at/picture.html" >/dev/null 2>&1
[ -s report.png ] || fail "there is no picture of the report"
echo "1 passed, 0 failed"
