#!/usr/bin/env bash
# Time and memory of the commands that read a whole store, on one with as many rows of a kilobyte as asked for; as a table in Markdown.
#
#   scripts/scale_test.sh [ROWS] [OTHER] [TIMES] [ONLY]
#
# OTHER is a binary to compare with. One from before there was one form of rows reads a store in the form of that time. Both are measured
# TIMES times in turn; the table has the median of the seconds, that of the seconds of all cores together, which depends less on what else
# the machine does, and the most memory. ONLY is a regular expression for the names of the commands to measure,
# such as 'csv|stats'.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-1000000}
other=${2:-}
times=${3:-1}
only=${4:-}
cargo build --release --quiet -p nalm-cli
cargo build --release --quiet -p nalm-lab --example synthetic_store
built=${CARGO_TARGET_DIR:-$PWD/target}/release
nalm=$built/nalm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$built/examples/synthetic_store" "$work/new" "$rows"
if [ -n "$other" ]; then
  "$built/examples/synthetic_store" "$work/old" "$rows" old
fi
cd "$work"

# Seconds, seconds of all cores, and megabytes of a command.
measure() {
  python3 - "$@" <<'PY'
import resource, subprocess, sys, time
start = time.time()
with open("out", "wb") as out:
    subprocess.run(sys.argv[1:], stdout=out, stderr=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{time.time() - start:.1f} {used.ru_utime + used.ru_stime:.1f} {used.ru_maxrss / 1024:.0f}")
PY
}

echo "$rows rows, $(stat -c %s new/seg/*.jsonl | awk '{printf "%.2f", $1 / 1e9}') GB; $(nproc) cores, $(grep -m1 'model name' /proc/cpuinfo | sed 's/.*: //')"
echo
echo "| command | before | now |"
echo "|---|---|---|"
# The medians and the most memory of several measurements, one a line.
summary() {
  local middle=$(((times + 1) / 2))
  local wall cores most
  wall=$(cut -d' ' -f1 "$1" | sort -n | sed -n "${middle}p")
  cores=$(cut -d' ' -f2 "$1" | sort -n | sed -n "${middle}p")
  most=$(cut -d' ' -f3 "$1" | sort -n | tail -n 1)
  echo "$wall s (cores: $cores s), $most MB"
}
row() {
  local name=$1 before=–
  shift
  [[ "$name" =~ $only ]] || return 0
  rm -f seconds-old seconds-new
  for ((k = 0; k < times; k++)); do
    if [ -n "$other" ]; then
      rm -rf packed
      measure "$other" "${@//STORE/old}" >>seconds-old
      [ ! -d packed ] || stat -c %s packed/seg/*.gz >size-old
    fi
    rm -rf packed
    measure "$nalm" "${@//STORE/new}" >>seconds-new
    [ ! -d packed ] || stat -c %s packed/seg/*.gz >size-new
  done
  [ -z "$other" ] || before=$(summary seconds-old)
  echo "| $name | $before | $(summary seconds-new) |"
}
row "\`nalm status\`" status --store STORE
row "\`nalm report single-module\`" report single-module --preset paper --store STORE --out report
row "\`nalm export --csv -\`" export --csv - --store STORE
row "\`nalm export --jsonl -\`" export --jsonl - --store STORE
row "\`nalm store compact\`" store compact STORE
row "\`nalm store pack\`" store pack STORE --into packed
if [ -f size-new ]; then
  before=–
  [ ! -f size-old ] || before="$(($(cat size-old) / 1000000)) MB"
  echo "| size when packed | $before | $(($(cat size-new) / 1000000)) MB |"
fi
# A table a thousand times as large as the store has rows: the exported one, several times over, as if of several modules.
if [[ "nalm stats" =~ $only ]]; then
  "$nalm" export --csv rows.csv --store new
  head -n 1 rows.csv >many.csv
  module=0
  while (($(stat -c %s many.csv) < 1000 * rows)); do
    module=$((module + 1))
    tail -n +2 rows.csv | sed "s/^nmu,/nmu-$module,/" >>many.csv
  done
  # Without the other one: that from before took more than ten times the table's size in memory.
  other=
  row "\`nalm stats\` of $(($(wc -l <many.csv) - 1)) runs, $(stat -c %s many.csv | awk '{printf "%.2f", $1 / 1e9}') GB" stats many.csv
fi
