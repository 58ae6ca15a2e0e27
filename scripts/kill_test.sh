#!/usr/bin/env bash
# Kills `nalm run` with SIGKILL at random moments, lets it finish, and compares the compacted store with an undisturbed one.
#
#   scripts/kill_test.sh [KILLS]
set -euo pipefail
cd "$(dirname "$0")/.."
kills=${1:-200}
cargo build --release --quiet -p nalm-cli
nalm=$PWD/target/release/nalm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
experiment=(run single-module --preset quick --seeds 40)

"$nalm" "${experiment[@]}" --store calm 2>/dev/null
"$nalm" store compact calm 2>/dev/null >calm.jsonl

hits=0
while ((hits < kills)); do
  "$nalm" "${experiment[@]}" --store hit 2>/dev/null &
  pid=$!
  sleep "0.$(printf %02d $((RANDOM % 20 + 3)))"
  if ! kill -9 "$pid" 2>/dev/null; then
    echo "only $hits kills hit a run before everything was done; make the experiment longer" >&2
    exit 1
  fi
  wait "$pid" 2>/dev/null || true
  hits=$((hits + 1))
done
"$nalm" store check hit
"$nalm" "${experiment[@]}" --store hit
"$nalm" store check hit
"$nalm" store compact hit >hit.jsonl
cmp calm.jsonl hit.jsonl
echo "$kills kills: the same $(wc -l <calm.jsonl) rows, sha256 $(sha256sum <hit.jsonl | cut -c1-16)…"
