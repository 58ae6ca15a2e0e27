#!/usr/bin/env bash
# Runs the tests of every file with `unsafe` under Miri, which stops at undefined behaviour, and prints what passed as a table.
#
# Needs a nightly toolchain with Miri; takes some minutes. Three times: as on a processor with SSE2 alone, as on one with AVX2 and FMA, and as on one
# with AVX-512, so that `InstructionSet::available` finds what the kernels are compiled for.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/miri
export MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check"

echo "| package | tests | processor | passed |"
echo "|---|---|---|---|"
row() {
  local name=$1 package=$2 passed
  shift 2
  passed=$(cargo +nightly miri test --quiet -p "$package" "$@" 2>/dev/null | awk '/^test result: ok/ {n += $4} END {print n + 0}')
  [ "$passed" -gt 0 ]
  echo "| $package | \`$*\` | $name | $passed |"
}
all() {
  # Lanes as flat memory, their sums by SSE, kernels for every instruction set.
  row "$1" nalm --lib lane::
  # Rows turned into columns by shuffles.
  row "$1" nalm --lib turn::
  # Passes of modules, through the same.
  row "$1" nalm --test forward_values
  # Runs of numbers by vectors, and products of matrices, through the same.
  row "$1" nalm-vision --lib vector::
  row "$1" nalm-vision --lib layer::matrix::tests::products
}
unset RUSTFLAGS
all SSE2
avx2=+avx2,+fma,+bmi1,+bmi2,+lzcnt,+popcnt
RUSTFLAGS="-C target-feature=$avx2" all AVX2
RUSTFLAGS="-C target-feature=$avx2,+avx512f,+avx512vl,+avx512bw,+avx512dq" all AVX-512
