#!/usr/bin/env bash
# Runs the fuzz loops (tests/fuzz.rs of each crate) for ten million executions in all, and prints how many each target got, as a table.
#
#   scripts/fuzz.sh [PERCENT]
#
# Every execution must end, without a panic and without asking for more than 128 MB at once; what else must hold is in the tests. Most inputs are damaged; those that
# a reader took are counted, too. Where digits are read, being refused in order is all that can be asked, and counts as taken.
set -euo pipefail
cd "$(dirname "$0")/.."
percent=${1:-100}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Copies, so that the sources may change meanwhile.
cargo test --workspace --test fuzz --no-run 2>&1 | tee /dev/stderr | sed -n 's/.*Executable.*(\(.*\))$/\1/p' | while read -r program; do cp "$program" "$work"; done

echo "| package | target | executions | taken |"
echo "|---|---|---|---|"
target() {
  local package=$1 test=$2 thousands=$3
  for program in "$work"/fuzz-*; do
    if ! NALM_FUZZ=$((thousands * 10 * percent)) "$program" --exact "$test" --nocapture >>"$work/out" 2>&1; then
      tail -n 40 "$work/out" >&2
      exit 1
    fi
  done
  grep -q "executions, of which" "$work/out"
  sed -n "s/^\(.*\): \([0-9]*\) executions, of which \([0-9]*\) inputs were taken/| $package | \1 | \2 | \3 |/p" "$work/out"
  rm "$work/out"
}
{
  target nalm ranges_and_distributions 1000
  target nalm noises_denoisers_and_other_names 1200
  target nalm layers 1000
  target nalm tables 500
  target nalm-vision networks_as_safetensors 1000
  target nalm-vision checkpoints 1000
  target nalm-vision files_of_digits 100
  target nalm-lab saved_formulas 300
  target nalm-lab tables_and_their_formulas 20
  target nalm-lab segments 200
  target nalm-lab compressed_segments 200
  target nalm-lab experiment_files 200
} | awk -F'|' '{print; all += $4; taken += $5} END {printf "| all | | %d | %d |\n", all, taken}'
