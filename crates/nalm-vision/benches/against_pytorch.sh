#!/usr/bin/env bash
# Training steps of the image networks, ours and PyTorch's (eager) in turn, so that a noisy machine is unfair to both alike.
# Installs PyTorch into a throw-away environment; set PYTHON to an interpreter that already has it to skip that.
#
#   crates/nalm-vision/benches/against_pytorch.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/../../.."
if [ -z "${PYTHON:-}" ]; then
  environment=$(mktemp -d)
  trap 'rm -rf "$environment"' EXIT
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet torch numpy
  PYTHON="$environment/bin/python"
fi
cargo bench --quiet -p nalm-vision --bench step --no-run
for ((round = 1; round <= ${1:-3}; round++)); do
  for name in isolated sequential colour; do
    cargo bench --quiet -p nalm-vision --bench step -- --best "$name"
    for threads in 1 "$(nproc)"; do "$PYTHON" crates/nalm-vision/benches/pytorch.py "$threads" "$name"; done
  done
done | sort
