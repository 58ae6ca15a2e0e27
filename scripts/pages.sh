#!/usr/bin/env bash
# Writes every page of docs/results from the records, and the parts of README.md, METHOD.md, docs/second-order.md and the records' own READMEs that come from them.
set -euo pipefail
cd "$(dirname "$0")/.."
out=docs/results
cargo build --release --quiet --locked -p nalm-cli
nalm=target/release/nalm
numerical=record/2026-11-16-numerical
images=record/2026-11-16-mnist
"$nalm" report all --preset paper --store "$numerical" --out "$out" --readme README.md
"$nalm" report single-module single-module-snmu stochastic-gates gradient-noise --preset paper --stream reference \
  --store "$numerical" --out "$out/reference"
"$nalm" report mnist-isolated mnist-isolated-full mnist-colour mnist-sequential --preset laptop --store "$images" --out "$out/images" \
  --readme METHOD.md
"$nalm" report mnist-isolated --preset laptop --store "$images" --out "$out/images" --readme README.md
# Networks as diagrams.
while IFS='|' read -r file network; do
  "$nalm" describe "$network" --svg "docs/networks/$file.svg"
done <<'LIST'
snmu|snmu
nau-nmu|nau 100->2, nmu
mnist-isolated|mnist-isolated
mnist-colour|mnist-colour
mnist-sequential|mnist-sequential
LIST
# Last, because it links to the pages that are there.
"$nalm" claims "$numerical" "$images" --out "$out" --readme README.md --readme METHOD.md --readme docs/second-order.md --readme "$out/index.md" \
  --readme "$numerical/README.md" --readme "$images/README.md" >/dev/null
