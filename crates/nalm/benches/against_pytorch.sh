#!/usr/bin/env bash
# The same training steps in PyTorch (eager, one thread) and here, interleaved in one run, with their ratio.
# Installs PyTorch into a throw-away environment; set PYTHON to an interpreter that already has it to skip that.
#
#   crates/nalm/benches/against_pytorch.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/../../.."
if [ -z "${PYTHON:-}" ]; then
  environment=$(mktemp -d)
  trap 'rm -rf "$environment"' EXIT
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet torch numpy
  PYTHON="$environment/bin/python"
fi
cargo bench --quiet -p nalm --bench step --no-run
"$PYTHON" crates/nalm/benches/against_pytorch.py "${1:-5}"
