#!/usr/bin/env bash
# Moves two Rust programs over to logdef: mini-redis, which logs by tracing on tokio, and merino, which
# logs by log. What is changed is in rust/*.patch; docs/rust.md shows it. Then both are killed with SIGKILL under load, and
# the records of all requests that were answered are looked for in their logs.
#
#     samples/real/rust.sh [KILLS]        of each program, 10 by default
. "$(dirname "$0")/common.sh"
kills=${1:-10}
at=$work/rust

# The released sources, as cargo has them. They are a workspace of their own.
mkdir -p "$at/fetch/src"
cat >"$at/fetch/Cargo.toml" <<'TOML'
[package]
name = "fetch"
version = "0.0.0"

[dependencies]
merino = "=0.1.3"
mini-redis = "=0.4.1"

[workspace]
TOML
touch "$at/fetch/src/lib.rs"
(cd "$at/fetch" && timeout 300 cargo fetch) >&2 || skip "the programs cannot be fetched"

# source_of_crate NAME VERSION: the folder with the sources of a crate that was fetched.
source_of_crate() {
    cargo metadata --manifest-path "$at/fetch/Cargo.toml" --offline --format-version 1 |
        tr '"' '\n' | sed -n "s,\(.*/$1-$2\)/Cargo.toml$,\1,p" | sort -u
}

# move_over NAME VERSION FACADE
move_over() {
    local name=$1 version=$2 facade=$3 source
    source=$(source_of_crate "$name" "$version")
    [ -d "$source" ] || fail "the sources of $name were not found"
    rm -rf "${at:?}/$name"
    cp -r "$source" "$at/$name"
    cd "$at/$name"
    patch --quiet --strip=1 <"$real/rust/$name.patch" || fail "$name cannot be changed as it was"
    printf '\n[workspace]\n' >>Cargo.toml
    # Where the release names no versions of what it depends on, these.
    [ -e Cargo.lock ] || cp "$real/rust/$name.lock" Cargo.lock
    cargo build --quiet --bins --target-dir "$at/target" \
        --config "patch.crates-io.logdef.path='$root/logger'" \
        --config "patch.crates-io.logdef-$facade.path='$root/logger/$facade'" >"$at/$name-build.log" 2>&1 ||
        { tail "$at/$name-build.log"; fail "$name does not build"; }
}

move_over mini-redis 0.4.1 tracing
move_over merino 0.1.3 log
cd "$root"
LOGDEF_REAL_RUST=$at LOGDEF_KILLS=$kills cargo test --package logdef-samples --test real_programs -- \
    --ignored --nocapture
