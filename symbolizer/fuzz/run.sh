#!/usr/bin/env bash
# Lets each fuzz target run for a while: see .ci/fuzz.
#
#   symbolizer/fuzz/run.sh [SECONDS [TARGET...]]    30 seconds of all of them by default
exec "$(dirname "$0")/../../.ci/fuzz" "$(dirname "$0")" "$@"
