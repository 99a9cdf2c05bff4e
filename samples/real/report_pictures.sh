#!/usr/bin/env bash
# Pictures of reports, to be looked at by people: of the demo's damaged log, of a clean one, an empty one and one
# with markup in its strings, each in light, in dark and as it is printed. docs/pictures has the head of one
# about the demo's two programs in both colours.
#
#     samples/real/report_pictures.sh [FOLDER]    by default target/real/reports
#
# It wants the demo to have run: cargo run --release --bin demo
. "$(dirname "$0")/common.sh"

at=${1:-$work/reports}
demo=${LOGDEF_DEMO:-$root/target/release/demo-logs}
for tool in chromium pdftoppm; do
    command -v $tool >/dev/null || skip "$tool is not installed"
done
[ -s "$demo/damaged.log" ] || skip "there is no $demo/damaged.log: run the demo first"
[ -x "$logdef" ] || (cd "$root" && cargo build --release --package logdef-cli) >&2
mkdir -p "$at"
cp "$demo/damaged.log" "$at/demo.log"
: >"$at/empty.log"

# log_of NAME TEXT: a log with the text in messages, tags, files, components and keys.
log_of() {
    local number text=$2
    {
        printf '['
        for number in 1 2 3; do
            [ $number = 1 ] || printf ','
            printf '{"data_source":"Logs","metadata":{"timestamp":%d000000000,"severity":"%s","tags":["%s"],' \
                $((1800000000 + number)) "$([ $number = 2 ] && echo ERROR || echo INFO)" "$text"
            printf '"pid":7,"tid":8,"file":"%s","line":9},"moniker":"%s","payload":{"root":' "$text" "$text"
            printf '{"message":{"value":"%s"},"keys":{"%s":"%s"}}},"version":1}' "$text" "$text" "$text"
        done
        printf ']\n'
    } >"$at/$1.json"
    rm -f "$at/$1.log"
    "$logdef" import --from diagnostics-json -O "$at/$1.log" "$at/$1.json"
}
log_of clean hello
log_of hostile "</td></script><script>document.title='driven'</script><img src=x onerror=alert(1)><b>&amp;"

# picture PAGE SCHEME OUT: 0 is dark, 1 is light.
picture() {
    timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,800 \
        --blink-settings="preferredColorScheme=$2" --screenshot="$3" "file://$1" >/dev/null 2>&1
    [ -s "$3" ] || fail "there is no picture $3"
}

cd "$at"
for name in demo clean empty hostile; do
    rm -f $name.html $name-*.png $name.pdf
    # For everybody: without the folders of this machine.
    "$logdef" report --title "$name.log" -O - $name.log 2>/dev/null |
        sed "s,$demo/,/srv/,g; s,$root/,/srv/,g" >$name.html
    picture "$at/$name.html" 1 "$at/$name-light.png"
    picture "$at/$name.html" 0 "$at/$name-dark.png"
    timeout 60 chromium --headless --no-sandbox --disable-gpu --no-pdf-header-footer \
        --print-to-pdf="$at/$name.pdf" "file://$at/$name.html" >/dev/null 2>&1
    pdftoppm -r 60 -png $name.pdf $name-print
    set -- $name-print*.png
    [ -s "$1" ] || fail "there is no picture of $name.log on paper"
    cmp -s $name-light.png $name-dark.png && fail "light and dark of $name.log are alike"
    echo "$name.log: light, dark and $# pages"
done
echo "1 passed, 0 failed"
