#!/usr/bin/env bash
# Builds the fuzz targets and lets each run for a while, starting from the corpus.
# What it finds stays in target/corpus, inputs that fail in artifacts.
#
#   resync/fuzz/run.sh [SECONDS [TARGET...]]    30 seconds of all of them by default
#
# A stable compiler is enough: coverage is a pass of its back end, and no sanitizer
# is needed where no unsafe code is. With cargo-fuzz, `cargo +nightly fuzz run scan`
# does the same.
set -eu
cd "$(dirname "$0")"
seconds=${1:-30}
[ $# -gt 0 ] && shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(scan record render merge recover fxt_read import)

host=$(rustc -vV | sed -n 's/^host: //p')
coverage="-C passes=sancov-module -C codegen-units=1 -C llvm-args=-sanitizer-coverage-level=4"
for part in inline-8bit-counters pc-table trace-compares; do
    coverage+=" -C llvm-args=-sanitizer-coverage-$part"
done
# With a target named, build scripts are built without coverage.
RUSTFLAGS="$coverage --cfg fuzzing" CARGO_TARGET_DIR=target \
    cargo build --quiet --release --target "$host" --bins
[ "$seconds" -gt 0 ] || exit 0

failed=0
for target in "${targets[@]}"; do
    seeds=(corpus/$target)
    case $target in scan | recover) seeds+=(../../samples/corpus) ;; esac
    mkdir -p target/corpus/$target artifacts/$target
    printf '%s: ' "$target"
    # A mutant is a page of decisions; a log is a few kilobytes.
    if target/$host/release/$target -max_total_time="$seconds" -max_len=8192 -timeout=10 -rss_limit_mb=1024 \
        -print_final_stats=1 -artifact_prefix=artifacts/$target/ \
        target/corpus/$target "${seeds[@]}" >target/$target.log 2>&1; then
        awk '/number_of_executed_units/ { runs = $2 } / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1) }
            END { print runs " inputs, " cov " places reached" }' target/$target.log
    else
        failed=1
        printf 'failed\n'
        grep -A 20 -m 1 -E 'panicked|ERROR: libFuzzer|SUMMARY' target/$target.log || tail -n 20 target/$target.log
    fi
done
exit $failed
