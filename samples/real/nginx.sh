#!/usr/bin/env bash
# Moves nginx over to logdef beside its own error log, with workers that are forked and then give up
# root. Each request for a file that does not exist is one record of a worker.
. "$(dirname "$0")/common.sh"
requests=${1:-30}
[ "$(id -u)" -eq 0 ] || skip "only root can start workers of another user"

install_logdef
nginx=$(source_of nginx)
cd "$nginx"

# The one function that all of nginx's messages pass, when its text is complete and has no line feed yet.
sed -i -e '0,/#include <ngx_core.h>/s//&\n#include <logdef.h>/' -e '0,/^    ngx_linefeed(p);/s//\
    {\
        static const int levels[] = { LOGDEF_FATAL, LOGDEF_FATAL, LOGDEF_FATAL, LOGDEF_FATAL,\
            LOGDEF_ERROR, LOGDEF_WARN, LOGDEF_INFO, LOGDEF_INFO, LOGDEF_DEBUG };\
        logdef_log(levels[level], "%.*s", (int) (p - msg), (const char *) msg);\
    }\
&/' src/core/ngx_log.c
sed -i -e '0,/#include <ngx_core.h>/s//&\n#include <logdef.h>/' -e '/^main(int argc/,/^    ngx_debug_init();/s/^    ngx_debug_init();/    if (logdef_open(getenv("NGINX_LOGDEF")) != 0) {\
        return 1;\
    }\
&/' src/core/nginx.c
grep -q logdef_open src/core/nginx.c && grep -q logdef_log src/core/ngx_log.c || fail "the places to change were not found"
at=$work/nginx
rm -rf "$at" && mkdir -p "$at/log" "$at/html" "$at/logs"
./configure --prefix="$at" --without-http_rewrite_module --without-http_gzip_module \
    --with-cc-opt="$(pkg-config --cflags logdef)" --with-ld-opt="$(pkg-config --libs logdef)" >"$work/nginx-build.log"
make -s -j2 >>"$work/nginx-build.log" 2>&1 || { tail "$work/nginx-build.log"; fail "nginx does not build"; }

cat >"$at/nginx.conf" <<CONF
user nobody nogroup;
worker_processes 2;
error_log $at/logs/error.log info;
pid $at/nginx.pid;
events { worker_connections 64; }
http { access_log off; server { listen unix:$at/socket; root $at/html; } }
CONF
# The folder and the log are root's: a worker can make no file there.
chmod 755 "$work" "$at" "$at/log"
NGINX_LOGDEF=$at/log/nginx.log objs/nginx -c "$at/nginx.conf" -p "$at" -e "$at/logs/error.log"
until_true 20 test -S "$at/socket"
for i in $(seq "$requests"); do
    curl -s -o /dev/null --unix-socket "$at/socket" "http://localhost/missing-$i" || true
done
until_true 20 sh -c "[ \$(grep -c 'No such file' '$at/logs/error.log') -ge $requests ]"
kill -QUIT "$(cat "$at/nginx.pid")"
until_true 20 sh -c "! test -e '$at/nginx.pid'"

"$logdef" check "$at/log" || fail "check says that records are missing"
"$logdef" view "$at/log" -o json >"$at/view.json"
expect "requests for a file that does not exist" "$(grep -c 'No such file or directory' "$at/view.json")" "$requests"
expect "all messages of the error log" "$(wc -l <"$at/view.json")" "$(wc -l <"$at/logs/error.log")"
echo "1 passed, 0 failed"
