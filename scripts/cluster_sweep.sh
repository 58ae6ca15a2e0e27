#!/usr/bin/env bash
# The paper's noise sweep at a tenth of its length: one process, and `nalm submit` on a Slurm of two nodes on this machine, with two workers of one core and with one.
#
#   scripts/cluster_sweep.sh SEEDS THREADS [STORE]
#
# SEEDS of each cell (the paper has 20), THREADS of the one process; or a STORE that such a process has filled. Prints a table.
set -euo pipefail
seeds=${1:?give a number of seeds} threads=${2:?give a number of threads}
store=${3:+$(cd "$3" && pwd)}
cd "$(dirname "$0")/.."
here=$PWD
if [ -z "${NALM:-}" ]; then
  cargo build --release --quiet --locked -p nalm-cli
  NALM=${CARGO_TARGET_DIR:-target}/release/nalm
fi
work=$(mktemp -d)
chmod 755 "$work"
cluster=$work/slurm
trap '"$here/scripts/slurm.sh" down "$cluster"; rm -rf "$work"' EXIT
cp "$NALM" "$work/nalm"
nalm=$work/nalm
"$here/scripts/slurm.sh" up "$cluster" 2
export SLURM_CONF=$cluster/slurm.conf
cd "$work"
sweep=(noise-sweep --preset paper --steps 200000 --seeds "$seeds")

# The sum of a number over the footers of all segments of a store.
total() { cat "$1"/seg/*.jsonl | grep -o "\"$2\":[0-9.]*" | cut -d: -f2 | awk '{sum += $1} END {printf "%.0f", sum}'; }
line() {
  local rows hash
  rows=$("$nalm" store check "$2" | awk '/^rows/ {r = $2} /^duplicates/ {d = $2} /^problems/ {p = $2} END {print r " | " d " | " p}')
  hash=$("$nalm" store compact "$2" 2>/dev/null | sha256sum | cut -c1-16)
  echo "| $1 | $3 s | $(total "$2" cpu_seconds) s | $rows | $hash |"
}

if [ -z "$store" ]; then
  store=$work/alone
  "$nalm" run "${sweep[@]}" --threads "$threads" --store alone 2>alone.log
fi
submit() {
  local start wall shared=shared-$1
  start=$(date +%s%N)
  "$nalm" submit "${sweep[@]}" --store "$shared" --scheduler slurm --tasks "$1" --cpus 1 --time 4h 2>submitted
  while [ -n "$(timeout 20 squeue -h 2>/dev/null)" ]; do sleep 0.2; done
  wall=$(((($(date +%s%N) - start) / 100000000 + 5) / 10))
  "$nalm" status "${sweep[@]}" --store "$shared" >/dev/null
  [ "$("$nalm" store compact "$store" 2>/dev/null | sha256sum)" = "$("$nalm" store compact "$shared" 2>/dev/null | sha256sum)" ]
  line "\`nalm submit --tasks $1 --cpus 1\`" "$shared" "$wall"
}
echo "$(nproc) cores; $("$nalm" --version); $seeds of 20 seeds, 200,000 of 2,000,000 steps"
echo
echo "| how | time | processor time | runs | duplicates | problems | SHA-256 of the rows |"
echo "|---|---:|---:|---:|---:|---:|---|"
line "one process, $threads threads" "$store" "$(total "$store" seconds)"
submit 2
submit 1
