#!/usr/bin/env bash
# A sweep through `nalm submit` on a real Slurm: an array of 6 tasks on nodes of which one loses power and another its network. All runs must be there
# in the end, none of them with two results, and the compacted store must be that of one process, to the byte.
#
#   scripts/slurm_test.sh     NALM=FILE takes that program instead of building it
#
# Where Slurm cannot be had, it says SKIPPED.
set -euo pipefail
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
# The same name for all processes, by which they are found at the end; and building goes on meanwhile.
cp "$NALM" "$work/nalm"
nalm=$work/nalm
began=$(date +%s%N)
say() { printf '%5.1f s  %s\n' "$((($(date +%s%N) - began) / 100000000))e-1" "$*"; }

code=0
"$here/scripts/slurm.sh" up "$cluster" 5 || code=$?
if [ "$code" = 77 ]; then
  echo "SKIPPED: the sweep on a real Slurm"
  exit 0
fi
[ "$code" = 0 ] || exit "$code"
export SLURM_CONF=$cluster/slurm.conf
say "Slurm $(sinfo --version | cut -d' ' -f2): $(sinfo -h -N -o %N | wc -l) nodes"

cd "$work"
cat >sweep.toml <<'TOML'
title = "Sweep"
task = "single-module"

[preset.test]
seeds = 20
steps = 200000

[[model]]
module = "nmu"

[[model]]
module = "snmu"
TOML
# Long enough for Slurm to notice what happens, on as many cores as the tasks can use.
cores=$(nproc)
sweep=(sweep.toml --steps "$((${STEPS:-175000} * (cores < 6 ? cores : 6)))")
start=$(date +%s%N)
"$nalm" run "${sweep[@]}" --store alone 2>/dev/null
alone=$((($(date +%s%N) - start) / 1000000))
say "one process: $("$nalm" status "${sweep[@]}" --store alone | grep -m1 ' of ') in $alone ms"

rows() { cat "$work"/shared/seg/*.jsonl 2>/dev/null | grep -c '"result_hash"' || true; }
waiting() { timeout 20 squeue -h -o %i 2>/dev/null | grep -c . || true; }
start=$(date +%s%N)
"$nalm" submit "${sweep[@]}" --store shared --scheduler slurm --tasks 6 --cpus 1 --time 20m 2>&1 | sed 's/^/         /'
until [ "$(rows)" -ge 40 ]; do sleep 0.2; done
say "$(rows) rows on $(squeue -h -r -t running -o %N | sort -u | tr '\n' ' ')when n2 loses power and n3 its network"
"$here/scripts/slurm.sh" power "$cluster" n2
"$here/scripts/slurm.sh" cut "$cluster" n3
turns=1
while :; do
  while [ "$(waiting)" != 0 ]; do sleep 0.5; done
  if "$nalm" status "${sweep[@]}" --store shared >/dev/null 2>&1; then break; fi
  # Slurm may lose tasks; whatever is missing is submitted again.
  [ "$turns" -lt 4 ] || { echo "runs are still missing after $turns turns" >&2; exit 1; }
  turns=$((turns + 1))
  "$nalm" submit "${sweep[@]}" --store shared --scheduler slurm --tasks 6 --cpus 1 --time 20m 2>&1 | sed 's/^/         /'
done
shared=$((($(date +%s%N) - start) / 1000000))
"$nalm" status "${sweep[@]}" --store shared | sed 's/^/         /'
say "through Slurm: $shared ms, submitted $turns times, $(grep -c 'requeue job' "$cluster/slurmctld.log" || true) tasks started again by Slurm"
"$nalm" store check shared >checked
for what in rows torn duplicates problems; do say "$(grep "^$what" checked)"; done
[ "$(awk '/^rows/ {print $2}' checked)" = 360 ]
[ "$(awk '/^problems/ {print $2}' checked)" = 0 ]
want=$("$nalm" store compact alone 2>/dev/null | sha256sum | cut -c1-64)
got=$("$nalm" store compact shared 2>/dev/null | sha256sum | cut -c1-64)
say "SHA-256 of the rows, one process: $want"
say "SHA-256 of the rows, this sweep:  $got"
[ "$got" = "$want" ] || { echo "the rows differ" >&2; exit 1; }
