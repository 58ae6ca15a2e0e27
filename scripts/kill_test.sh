#!/usr/bin/env bash
# Kills `nalm run` with SIGKILL at random moments, lets it finish, and compares the compacted store with an undisturbed one.
#
#   scripts/kill_test.sh [KILLS]
set -euo pipefail
cd "$(dirname "$0")/.."
kills=${1:-200}
cargo build --release --quiet -p nalm-lab
nalm=$PWD/target/release/nalm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
experiment=(run single-module --preset quick --seeds 20)

"$nalm" "${experiment[@]}" --store calm 2>/dev/null
"$nalm" store compact calm 2>/dev/null >calm.jsonl

for ((k = 1; k <= kills; k++)); do
  "$nalm" "${experiment[@]}" --store hit 2>/dev/null &
  pid=$!
  sleep "0.$((RANDOM % 20 + 5))"
  kill -9 "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
done
"$nalm" store check hit
"$nalm" "${experiment[@]}" --store hit
"$nalm" store check hit
"$nalm" store compact hit >hit.jsonl
cmp calm.jsonl hit.jsonl
echo "$kills kills: the same $(wc -l <calm.jsonl) rows, sha256 $(sha256sum <hit.jsonl | cut -c1-16)…"
