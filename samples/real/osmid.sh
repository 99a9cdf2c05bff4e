#!/usr/bin/env bash
# Moves a C++ program that logs by spdlog over to logdef: osmid's o2m, which turns OSC messages of the
# network into MIDI. One sed makes LOGDEF_F of each call, beside it, and spdlog itself gets the sink of
# samples/bindings; the program is loaded by UDP and killed with SIGKILL, and text, calls and what the sink
# wrote are compared line by line, and by names, types, places and threads.
#
#     samples/real/osmid.sh [ROUNDS]        3 rounds by default
. "$(dirname "$0")/common.sh"
rounds=${1:-3}

for library in spdlog oscpack alsa x11; do
    pkg-config --exists $library || [ -e "/usr/lib/$(uname -m)-linux-gnu/lib$library.so" ] ||
        skip "lib$library is not installed (Debian's libspdlog-dev, liboscpack-dev, libasound2-dev, libx11-dev)"
done
command -v python3 >/dev/null || skip "python3 is not installed"
install_logdef
osmid=$(source_of osmid)
cd "$osmid"

# Every call is a line of m_logger.LEVEL("format", arguments...); the log is written first, so that
# each line of the text has its record.
sed -i -E 's/^( *)m_logger\.(trace|debug|info|warn|error)\((.*)\);$/\1{ LOGDEF_F(\U\2\E, \3); m_logger.\2(\3); }/' src/*.cpp
# Values that are to be found by name.
sed -i -E -e 's/LOGDEF_F\(DEBUG, "([FIS]): \{\}", (.*)\); m_logger/LOGDEF_F(DEBUG, "\1: {value}", logdef::arg<"value">(\2)); m_logger/' \
    -e 's/(LOGDEF_F\(INFO, "Received OSC message with address pattern: \{)\}", (.*)\); m_logger/\1address}", logdef::arg<"address">(\2)); m_logger/' src/*.cpp
[ "$(cat src/*.cpp | grep -c 'logdef::arg<')" = 4 ] || fail "the values to name were not found"
sed -i 's/^#include "monitorlogger.h"/&\n#include <logdef_format.h>/' src/*.cpp src/*.h
[ "$(cat src/*.cpp | grep -c '{ LOGDEF_F(')" -gt 30 ] || fail "the calls of spdlog were not found"
sed -i '/^int main(/,/^{/ s/^{/{\n    if (logdef_open(getenv("OSMID_LOGDEF")) != 0) { perror("logdef_open"); return 1; }/' src/o2m.cpp
# The spdlog of today, by the macro that knows the place, and no second output over the network. Its sinks are asked in
# their order: the log comes first.
sed -i -E -e 's,#include "osc_sink.h",#include "spdlog/sinks/stdout_sinks.h"\n#include "logdef_sink.h",' -e '/m_osc->/d' -e '/m_osc = /d' \
    -e 's/m_console->([a-z]*)\(fmt,/SPDLOG_LOGGER_CALL(m_console, spdlog::level::\1, ::fmt::runtime(fmt),/; s/level::error/level::err/' \
    -e 's/m_console = .*/&\n        m_console->sinks().insert(m_console->sinks().begin(), std::make_shared<logdef_spdlog::sink>());/' src/monitorlogger.h

# No MIDI device is needed: every message is logged before it is looked for. The files of the
# library juce are of an older C++, in which u8"" is of char.
flags="-w -O1 -DJUCE_ALSA=0 -DLINUX=1 -DNDEBUG=1 -DJUCER_LINUX_MAKE_6D53C8B4=1 -DJUCE_APP_VERSION=1.0.0
    -DJUCE_APP_VERSION_HEX=0x10000 -IJuceLibraryCode -IJuceLibraryCode/modules -Iexternal_libs/cxxopts
    -I/usr/include/oscpack"
for part in audio_basics audio_devices core events; do
    g++ -std=c++14 $flags -c JuceLibraryCode/include_juce_$part.cpp -o juce_$part.o
done
g++ -std=c++20 -fno-char8_t $flags -I"$root/samples/bindings/spdlog" $(pkg-config --cflags logdef spdlog) src/o2m.cpp src/midiout.cpp src/oscin.cpp \
    src/oscout.cpp src/midicommon.cpp src/oscinprocessor.cpp src/utils.cpp juce_*.o -o o2m \
    $(pkg-config --libs spdlog logdef) -loscpack -lasound -lX11 -lpthread -ldl -lrt

cat >send.py <<'PYTHON'
import socket, struct, sys, time
def padded(text):
    return text + b"\0" * (4 - len(text) % 4)
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(1, 1 << 30):
    message = padded(b"/*/count") + padded(b",isf") + struct.pack(">i", n)
    message += padded(b"text %d" % n) + struct.pack(">f", n / 4)
    to.sendto(message, ("127.0.0.1", int(sys.argv[1])))
    if n % 50 == 0:
        time.sleep(0.002)
PYTHON

for round in $(seq "$rounds"); do
    at=$work/osmid-$round
    rm -rf "$at" && mkdir -p "$at/log"
    port=$((20000 + $$ % 20000 + round))
    OSMID_LOGDEF=$at/log/osmid.log ./o2m --local --oscport $port --monitor 1 >"$at/osmid.txt" 2>/dev/null &
    server=$!
    python3 send.py $port &
    load=$!
    # Messages that are sent before it listens are lost.
    until_true 30 grep -q 'S: text [0-9]*[2-9][0-9][0-9][0-9]$' "$at/osmid.txt"
    sleep 1
    kill -9 $server
    wait $server 2>/dev/null || true
    kill $load
    wait $load 2>/dev/null || true

    "$logdef" check "$at/log" >"$at/check.txt" || fail "check: $(tail -n 3 "$at/check.txt")"
    "$logdef" view "$at/log" -o json >"$at/view.json"
    python3 - "$at" <<'PYTHON' || fail "round $round: the logs differ"
import json, re, sys
at = sys.argv[1]
records = [json.loads(line) for line in open(at + "/view.json")]
records = [r for r in records if "message" in r]
calls = [r for r in records if "keys" not in r]
logged = [(r["level"].lower(), r["message"]) for r in calls]
text = open(at + "/osmid.txt", errors="replace").read().split("\n")[:-1]
lines = [re.match(r"\[[^]]*\] \[console\] \[(\w+)\] (?:\[monitorlogger.h:\d+\] )?(.*)", line) for line in text]
lines = [(m.group(1), m.group(2)) for m in lines if m]
assert len(lines) > 2000, len(lines)
# The record is written before the text: a kill between the two leaves one more record.
assert 0 <= len(logged) - len(lines) <= 1, (len(logged), len(lines))
different = [pair for pair in zip(lines, logged) if pair[0] != pair[1]]
assert not different, different[:3]
# The values have their names and types.
kinds = {"I: {value}": int, "S: {value}": str, "F: {value:h}": float}
seen = {}
for r in calls:
    kind = kinds.get(r.get("format"))
    if kind:
        value = r["fields"]["value"]
        assert isinstance(value, (kind, int) if kind is float else kind), r
        assert [value] == r["args"], r
        seen[r["format"]] = seen.get(r["format"], 0) + 1
assert min(seen.get(format, 0) for format in kinds) > 400, seen
assert any(r.get("fields", {}).get("address") == "/*/count" for r in calls)
# What spdlog gave its sink: each call again, of the same thread, with the name of the logger and its place.
for thread in {r["thread"] for r in records}:
    ours = [r for r in calls if r["thread"] == thread]
    sunk = [r for r in records if "keys" in r and r["thread"] == thread]
    assert 0 <= len(ours) - len(sunk) <= 1, (len(ours), len(sunk))
    for call, of_sink in zip(ours, sunk):
        for key in ("level", "message", "pid", "tid", "thread_name"):
            assert call[key] == of_sink[key], (call, of_sink)
        assert of_sink["keys"] == {"logger": "console"}, of_sink
        assert of_sink["file"].endswith("monitorlogger.h") and of_sink["line"] > 0, of_sink
        assert of_sink["function"] == call["level"].lower(), of_sink
print(f"{len(lines)} lines of text, {len(logged)} records and {len(records) - len(logged)} of the sink")
PYTHON
    expect "round $round: values above 2000" "$("$logdef" view "$at/log" -w 'value>2000' -g '^I: ' | wc -l)" \
        "$(python3 -c 'import json, sys; print(sum(r.get("format") == "I: {value}" and r["fields"]["value"] > 2000 for r in map(json.loads, sys.stdin)))' <"$at/view.json")"
done
echo "1 passed, 0 failed"
