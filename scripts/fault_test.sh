#!/usr/bin/env bash
# Runs the tests that let every call to the disk fail in every way, and prints how many faults that were, as a table.
set -euo pipefail
cd "$(dirname "$0")/.."
echo "| command | faults, each followed by the same command undisturbed |"
echo "|---|---|"
cargo test --quiet -p nalm-cli --test faults -- --nocapture --test-threads 1 2>/dev/null | grep -o '| `nalm.*|'
