#!/usr/bin/env bash
# Time and memory of the commands that read a whole store, on one with as many rows of a kilobyte as asked for; as a table in Markdown.
#
#   scripts/scale_test.sh [ROWS] [OTHER]
#
# OTHER is a binary to compare with. One from before there was one form of rows reads a store in the form of that time.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-1000000}
other=${2:-}
cargo build --release --quiet -p nalm-cli
cargo build --release --quiet -p nalm-lab --example synthetic_store
nalm=$PWD/target/release/nalm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
target/release/examples/synthetic_store "$work/new" "$rows"
if [ -n "$other" ]; then
  target/release/examples/synthetic_store "$work/old" "$rows" old
fi
cd "$work"

# Seconds and megabytes of a command.
measure() {
  python3 - "$@" <<'PY'
import resource, subprocess, sys, time
start = time.time()
with open("out", "wb") as out:
    subprocess.run(sys.argv[1:], stdout=out, stderr=subprocess.DEVNULL, check=True)
print(f"{time.time() - start:.1f} s, {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB")
PY
}

echo "$rows rows, $(stat -c %s new/seg/*.jsonl | awk '{printf "%.2f", $1 / 1e9}') GB; $(nproc) cores, $(grep -m1 'model name' /proc/cpuinfo | sed 's/.*: //')"
echo
echo "| command | before | now |"
echo "|---|---|---|"
row() {
  local name=$1 before=–
  shift
  rm -rf packed
  [ -z "$other" ] || before=$(measure "$other" "${@//STORE/old}")
  [ ! -d packed ] || stat -c %s packed/seg/*.gz >size-old
  rm -rf packed
  echo "| $name | $before | $(measure "$nalm" "${@//STORE/new}") |"
  [ ! -d packed ] || stat -c %s packed/seg/*.gz >size-new
}
row "\`nalm status\`" status --store STORE
row "\`nalm report single-module\`" report single-module --preset paper --store STORE --out report
row "\`nalm export --csv -\`" export --csv - --store STORE
row "\`nalm export --jsonl -\`" export --jsonl - --store STORE
row "\`nalm store compact\`" store compact STORE
row "\`nalm store pack\`" store pack STORE --into packed
before=–
[ ! -f size-old ] || before="$(($(cat size-old) / 1000000)) MB"
echo "| size when packed | $before | $(($(cat size-new) / 1000000)) MB |"
