# What a log does on NFS. Run in the emulated machine of .ci/nfs, by its init: /a, /b, /b-sync and /c-soft are one
# folder as three machines see it, /export is that folder on the server. Prints a line a check.

# is NAME COMMAND...: whether a command succeeds.
is() {
    local name=$1
    shift
    if "$@"; then echo "ok: $name"; else echo "FAILED: $name"; fi
}

# start NAME LOG [WORD=NUMBER...]: begins to log; $NAME counts calls that returned, `said` has the last line.
start() {
    local name=$1
    shift
    printf '\0\0\0\0\0\0\0\0' >"/tmp/$name"
    teller "$1" "/tmp/$name" $(shift && echo "$@") >"/tmp/$name.said" 2>&1 &
    eval "${name}_pid=$!"
}
end() { eval "kill -TERM \$${1}_pid 2>/dev/null; wait \$${1}_pid"; }
finish() { eval "wait \$${1}_pid"; }
returned() { od -An -tu8 -N8 "/tmp/$1" | tr -d ' '; }
said() { sed -n "s/.*\b$2=\([^ ]*\).*/\1/p" "/tmp/$1.said"; }
figures() { echo "    $1: $(cut -d' ' -f1-5 "/tmp/$1.said")"; }

view() { logdef view "$@" 2>/dev/null | cat; }
check() { logdef check "$@" >/tmp/check 2>&1; }
# records LOG NAME: how many different ones it holds of a teller.
records() { view "$1" | sed -n "s/.*: record \([0-9]*\) of $2 .*/\1/p" | sort -un | wc -l; }
# holds LOG NAME COUNT: whether it holds the first COUNT ones; one more may be there, whose call did not return.
holds() {
    local found
    found=$(view "$1" | sed -n "s/.*: record \([0-9]*\) of $2 .*/\1/p" | sort -un | awk -v end="$3" '$1 < end' | wc -l)
    [ "$found" -eq "$3" ] || { echo "    $found of $3"; false; }
}
# grows NAME: whether calls return.
grows() {
    local before
    before=$(returned "$1")
    sleep 1
    [ "$(returned "$1")" -gt "$before" ]
}
stands() { ! grows "$1"; }
until_it_grows() {
    local left=60
    until grows "$1"; do
        left=$((left - 1))
        [ $left -gt 0 ] || return
    done
}
fill() { dd if=/dev/zero of=/export/fill bs=64k 2>/dev/null; true; }
# elsewhere COMMAND...: where no process of this machine is seen, and the machine was started another time.
elsewhere() {
    unshare -m -p -f --mount-proc sh -c \
        'mount --bind /another-boot /proc/sys/kernel/random/boot_id; exec "$@"' sh "$@"
}
echo 11111111-2222-3333-4444-555555555555 >/another-boot

echo "== the sink"
mkdir /a/sink /a/mapped
start plain /a/sink/app.log records=2000 name=1
finish plain
is "an appended log" [ "$(said plain mapped)" = false ]
is "the state says why" grep -q 'why="appended: NFS may not keep' /tmp/plain.said
view /a/sink >/tmp/view
is "a note says why" grep -q "sink: appended: NFS may not keep what is reserved" /tmp/view
is "all records" holds /a/sink 1 2000
is "a clean log" check /a/sink
start mapped /a/mapped/app.log mapped=1 records=10
finish mapped
is "a mapped log is refused" grep -q 'Invalid argument' /tmp/mapped.said

echo "== killed"
for round in 1 2 3 4 5; do
    mkdir "/a/killed-$round"
    if [ $((round % 2)) = 1 ]; then turns=rotate=30000; else turns=; fi
    start killed "/a/killed-$round/app.log" name=1 $turns
    until [ "$(returned killed)" -gt 300 ]; do sleep 0.1; done
    sleep "0.$round"
    kill -9 "$killed_pid"
    wait "$killed_pid" 2>/dev/null
    is "$(returned killed) records whose call returned" holds "/a/killed-$round" 1 "$(returned killed)"
    is "a clean log" check "/a/killed-$round"
done

echo "== rotated, children, names"
mkdir /a/rotated /a/kept /a/one /a/both /a/renamed /a/removed
start rotated /a/rotated/app.log name=1 records=3000 rotate=50000 children=3
finish rotated
is "all records in $(ls /a/rotated | wc -l) files" holds /a/rotated 1 3000
is "those of the children" [ "$(view /a/rotated | grep -c 'child record')" -eq 30 ]
is "no file above its size" [ -z "$(find /a/rotated -size +50000c)" ]
start kept /a/kept/app.log name=1 records=3000 rotate=50000 keep=3
finish kept
is "three files are kept" [ "$(find /a/kept -name '*[0-9]' | wc -l)" -eq 3 ]
is "without a gap" check /a/kept
start one /a/one/app.log name=1 records=1000
start two /a/one/app.log name=2 records=1000
finish one
finish two
is "one file of two processes: the first's records" holds /a/one 1 1000
is "the second's" holds /a/one 2 1000
# The files of this one are in use while the other begins, by locks of the server.
start one /a/both/app.log name=1 rotate=50000 pause=2000
sleep 4
elsewhere teller /b/both/app.log /tmp/two name=2 records=2000 rotate=50000 keep=2 >/tmp/two.said
end one
is "no file in use is removed by another machine" holds /a/both 1 "$(returned one)"
is "which removes its own" [ "$(records /a/both 2)" -lt 2000 ]
start renamed /a/renamed/app.log name=1 pause=1000
sleep 1
mv /a/renamed/app.log /a/renamed/app.log.000001
sleep 1
kill -HUP "$renamed_pid"
sleep 1
end renamed
is "renamed and opened again" [ -s /a/renamed/app.log ]
is "all records" holds /a/renamed 1 "$(returned renamed)"
for by in a export; do
    start removed /a/removed/app.log name=1 pause=1000
    sleep 2
    rm /$by/removed/app.log
    before=$(returned removed)
    sleep 6
    end removed
    is "removed in /$by: goes on in another file" [ "$(records /a/removed 1)" -gt 200 ]
    echo "    of $(($(returned removed) - before)) calls after that $(records /a/removed 1) in it, $(said removed dropped) dropped"
    rm -f /a/removed/*
done

echo "== two machines, one file"
mkdir /a/shared
start one /a/shared/app.log name=1 records=1000 pause=500
printf '\0\0\0\0\0\0\0\0' >/tmp/two
elsewhere teller /b/shared/app.log /tmp/two name=2 records=1000 pause=500 >/tmp/two.said
finish one
echo "    in it $(records /a/shared/app.log 1) of 1000 and $(records /a/shared/app.log 2) of 1000"
is "records are lost" [ $(($(records /a/shared/app.log 1) + $(records /a/shared/app.log 2))) -lt 2000 ]
check /a/shared/app.log
is "the reader says so" [ $? -eq 3 ]

echo "== followed"
mkdir /a/followed
start followed /a/followed/app.log name=1 pause=10000
sleep 2
timeout 20 logdef view --follow /a/followed/app.log >/tmp/here &
timeout 20 logdef view --follow /b/followed/app.log >/tmp/there &
sleep 15
end followed
sleep 5
is "on this machine" grep -q "record $(($(returned followed) - 1)) of" /tmp/here
echo "    on another $(grep -c ' record ' /tmp/there) of $(returned followed)"
is "on another, later" [ "$(grep -c ' record ' /tmp/there)" -gt 300 ]

echo "== no server"
mkdir /a/cut /a/stopped /c-soft/given-up
start cut /a/cut/app.log name=1 pause=1000
sleep 2
ip link set va down
sleep 5
is "a call waits" stands cut
ip link set va up
is "it returns" until_it_grows cut
end cut
figures cut
is "no record is lost" holds /a/cut 1 "$(returned cut)"
start stopped /a/stopped/app.log name=1 pause=1000
start turned /a/stopped/turned.log name=2 pause=1000 rotate=30000
sleep 2
echo 0 >/proc/fs/nfsd/threads
sleep 5
is "a call waits" stands stopped
serve
is "it returns" until_it_grows stopped
is "one that needs another file, too" until_it_grows turned
end stopped
end turned
figures stopped
figures turned
is "no record is lost" holds /a/stopped/app.log 1 "$(returned stopped)"
is "nor is one with its locks" holds /a/stopped 2 "$(returned turned)"
# A soft mount gives up after some seconds.
start cut /c-soft/given-up/app.log name=1 pause=1000
sleep 2
ip link set vc down
sleep 30
ip link set vc up
until_it_grows cut
end cut
figures cut
check /c-soft/given-up
is "a soft mount loses records" [ $? -eq 3 ]
is "some are counted" [ "$(said cut dropped)" -gt 0 ]
is "the reader finds others missing" grep -q "not clean: .* missing" /tmp/check

echo "== a full disk"
# full FOLDER NAME: logs while the disk of the server fills.
full() {
    mkdir "$1"
    start full "$1/app.log" name=1 pause=1000 text=400
    sleep 2
    fill
    sleep 6
}
full /a/full
rm /export/fill
sleep 10
end full
figures full
missing=$(($(returned full) - $(records /a/full 1) - $(said full dropped)))
is "calls are counted" [ "$(said full dropped)" -gt 100 ]
is "records of a second or two are missing: $missing" [ $missing -lt 2000 ]
last=$(view /a/full | sed -n 's/.*: record \([0-9]*\) of .*/\1/p' | tail -n 1)
is "the log goes on" [ "$last" -eq $(($(returned full) - 1)) ]
check /a/full
is "the reader counts these" grep -q "$(said full dropped) records dropped" /tmp/check
is "and finds the others missing" grep -q "not clean: .* missing" /tmp/check
full /a/full-at-end
end full
rm /export/fill
figures full
missing=$(($(returned full) - $(records /a/full-at-end 1) - $(said full dropped)))
is "full until the end: records of a second or two are missing: $missing" [ $missing -lt 2000 ]
# No room for a note of the drops: a log that ends at a whole record looks clean.
check /a/full-at-end
echo "    the reader exits with $?"
full /b-sync/full-in-sync
end full
rm /export/fill
figures full
is "mounted with sync: each is there or counted" [ "$(records /b-sync/full-in-sync 1)" -eq $(($(returned full) - $(said full dropped))) ]
is "many are" [ "$(said full dropped)" -gt 100 ]
echo "all checks were made"
