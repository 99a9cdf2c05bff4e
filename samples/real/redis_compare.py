"""Compares the text log of a redis that was killed with the records of its log, line by line for each
process, and looks at the names and types of values: redis_compare.py SERVER TEXT JSON."""

import collections
import json
import re
import sys

server, text, view = int(sys.argv[1]), sys.argv[2], sys.argv[3]
LEVELS = {".": "TRACE", "-": "DEBUG", "*": "INFO", "#": "WARN"}
# What each message with named values has in its fields, and of which type.
NAMED = {
    "command %s of client %llu": {"command": str, "client": int, "argc": int},
    "Background saving started by pid %ld": {"child": int},
    "Background append only file rewriting started by pid %ld": {"child": int},
    "Fork CoW for %s: current %zu MB, peak %zu MB, average %llu MB": {
        "what": str,
        "bytes": int,
        "peak_bytes": int,
    },
}



def same(message):
    """Without a time that is taken anew for each of the two logs."""
    return re.sub(r"took \d+us", "took us", message)


lines = collections.defaultdict(list)
for line in open(text, errors="replace"):
    found = re.match(r"(\d+):([XCSM]) \d+ \w+ \d+ [\d:.]+ ([-.*#]) (.*)", line)
    if found:
        pid, role, level, message = found.groups()
        lines[int(pid)].append((role, LEVELS[level], same(message)))

records = collections.defaultdict(list)
counts = collections.Counter()
for line in open(view):
    record = json.loads(line)
    if "message" not in record or "fields" not in record:
        continue
    fields = record["fields"]
    counts[record["format"]] += 1
    for name, kind in NAMED.get(record["format"], {}).items():
        assert type(fields[name]) is kind, record
    if record["format"].startswith("command"):
        assert [fields["command"], fields["client"]] == record["args"][:2], record
    message = same(record["message"].split("\n")[0])
    records[record["pid"]].append((fields["role"], record["level"], message))

assert len(lines[server]) > 1000, f"only {len(lines[server])} lines were logged"
assert len(lines) > 3, "no child logged anything"
for named in NAMED:
    assert counts[named] > 0, f"no record of '{named}'"
for pid, logged in records.items():
    # The record is written before the text: a kill between the two leaves one more record.
    more = len(logged) - len(lines[pid])
    assert 0 <= more <= (pid == server), (pid, len(logged), len(lines[pid]))
    for pair in zip(lines[pid], logged):
        assert pair[0] == pair[1], pair
assert set(lines) == set(records), (set(lines), set(records))
print(f"{sum(map(len, lines.values()))} lines of {len(lines)} processes, {counts.total()} records")
