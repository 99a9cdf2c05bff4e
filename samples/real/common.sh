# What the scripts of this folder share: a folder to work in, sources from Debian's packages, the
# library and the command of this repository, and one way to fail. Sourced, not run.
set -eu

real=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$real/../.." && pwd)
work=${LOGDEF_REAL:-$root/target/real}
prefix=$work/prefix
logdef=$root/target/release/logdef

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# 77 is what test runners know as "skipped".
skip() {
    echo "$(basename "$0"): skipped: $*"
    [ "${LOGDEF_REQUIRE:-}" != 1 ] || exit 1
    exit 77
}

# source_of PACKAGE: prints the folder with the released source of a Debian package. The lists of
# source packages are kept in the work folder, so that the machine's own stay as they are.
source_of() {
    local package=$1 folder archive
    mkdir -p "$work/sources" "$work/apt/parts" "$work/apt/lists/partial"
    cd "$work/sources"
    archive=$(find . -name "${package}_*.orig.tar.*" ! -name '*.asc' | head -n 1)
    if [ -z "$archive" ]; then
        command -v apt-get >/dev/null || skip "there is no apt-get to fetch $package with"
        for list in /etc/apt/sources.list.d/debian*.sources; do
            [ -e "$list" ] && sed 's/^Types: deb$/Types: deb-src/' "$list" >"$work/apt/parts/${list##*/}"
        done
        [ -s /etc/apt/sources.list ] &&
            sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$work/apt/parts/sources.list"
        set -- -qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/apt/parts" \
            -o "Dir::State::lists=$work/apt/lists"
        { timeout 300 apt-get "$@" update &&
            timeout 300 apt-get "$@" source --tar-only "$package"; } >&2 ||
            skip "the source of $package cannot be fetched"
        archive=$(find . -name "${package}_*.orig.tar.*" ! -name '*.asc' | head -n 1)
    fi
    folder=$(tar tf "$archive" | sed -n '1s,/.*,,p')
    rm -rf "$folder"
    tar xf "$archive"
    echo "$work/sources/$folder"
}

# The library and the command, optimized, as a user would install them.
install_logdef() {
    "$root/logger/capi/install.sh" "$prefix" >&2
    (cd "$root" && cargo build --release --package logdef-cli) >&2
    export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
}

# expect WHAT SEEN EXPECTED
expect() {
    [ "$2" = "$3" ] || fail "$1: $2, expected $3"
    echo "$1: $2"
}

# shows_what_is_raised LOG PID FILTER PLACE: raises the level of a place for five minutes from outside, and waits
# until a follower of the log shows it.
shows_what_is_raised() {
    local log=$1 pid=$2 filter=$3 place=$4 follower
    "$logdef" ctl "$log" --live | grep -q "pid $pid alive" || fail "ctl does not see process $pid"
    # All of it: the request may be taken before the follower has looked once.
    "$logdef" view --follow --tail 200000 "$log" >followed.txt 2>/dev/null &
    follower=$!
    "$logdef" ctl filter "$log" "$filter" --for 5m --pid "$pid" --wait 20s
    until_true 60 grep -q "control: filter $filter for 300 s, asked for by process" followed.txt
    until_true 60 grep -q "$place" followed.txt
    kill $follower
    wait $follower 2>/dev/null || true
    "$logdef" ctl "$log" --live | grep -q "pid $pid alive.*set from outside, for another" ||
        fail "ctl does not say how long the change lasts"
}

# core_of PID: waits until it has been killed, and prints its core; none where the kernel gives cores elsewhere.
core_of() {
    until_true 60 test ! -e "/proc/$1"
    find . -maxdepth 1 -name "core*" | head -n 1
}

# until_true SECONDS COMMAND...: polls, so that no test waits longer than it must.
until_true() {
    local left=$(($1 * 20))
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ $left -gt 0 ] || fail "gave up waiting for: $*"
        sleep 0.05
    done
}
