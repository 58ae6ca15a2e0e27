#!/usr/bin/env bash
# Kills commands with SIGKILL at random moments, lets them finish, and compares the compacted store with an undisturbed one.
#
#   scripts/kill_test.sh [KILLS]
#
# Most kills hit `nalm run`; a tenth hit a run with images amid its epochs, and a tenth merging, packing and compacting while a run adds
# rows. Prints what it did as a table.
set -euo pipefail
cd "$(dirname "$0")/.."
kills=${1:-200}
cargo build --release --quiet -p nalm-cli
export NALM_MNIST=$PWD/data/mnist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A copy, so that building goes on meanwhile.
cp "${CARGO_TARGET_DIR:-target}/release/nalm" "$work/nalm"
nalm=$work/nalm
cd "$work"

# Starts a command and kills it after up to so many milliseconds; fails if it ended before.
hit() {
  local most=$1
  shift
  "$@" >/dev/null 2>&1 &
  local pid=$!
  sleep "0.$(printf %03d $((RANDOM % most + 1)))"
  if ! kill -9 "$pid" 2>/dev/null; then
    wait "$pid" 2>/dev/null || true
    return 1
  fi
  wait "$pid" 2>/dev/null || true
}

rows() { "$nalm" store compact "$1" 2>/dev/null | sha256sum | cut -c1-16; }

echo "| killed | kills | rows | torn lines | SHA-256 of the rows, undisturbed and after the kills |"
echo "|---|---|---|---|---|"

# Numbers: a new store whenever one is complete.
numbers=(run single-module --preset quick --seeds 40)
"$nalm" "${numbers[@]}" --store calm 2>/dev/null
want=$(rows calm)
hits=0 torn=0 stores=0
while ((hits < kills - kills / 5)); do
  rm -rf hit
  stores=$((stores + 1))
  while ((hits < kills - kills / 5)) && hit 200 "$nalm" "${numbers[@]}" --store hit; do hits=$((hits + 1)); done
  "$nalm" "${numbers[@]}" --store hit 2>/dev/null
  torn=$((torn + $("$nalm" store check hit | awk '/^torn/ {print $3}')))
  [ "$(rows hit)" = "$want" ] || { echo "the rows differ after $hits kills" >&2; exit 1; }
done
echo "| \`nalm run\` (stores: $stores) | $hits | $("$nalm" store check calm | awk '/^rows/ {print $2}') each | $torn | $want, the same |"

# Images: killed amid epochs, taken up from checkpoints.
images=(run mnist-isolated-full --preset smoke --set halved=true --set epochs=12 --checkpoint 0)
"$nalm" "${images[@]}" --store calm-images 2>/dev/null
want=$(rows calm-images)
hits=0 stores=0
while ((hits < kills / 10)); do
  rm -rf hit-images
  stores=$((stores + 1))
  while ((hits < kills / 10)) && hit 200 "$nalm" "${images[@]}" --store hit-images; do hits=$((hits + 1)); done
  "$nalm" "${images[@]}" --store hit-images 2>/dev/null
  [ "$(rows hit-images)" = "$want" ] || { echo "the rows with images differ after $hits kills" >&2; exit 1; }
done
echo "| \`nalm run\` with images (stores: $stores) | $hits | $("$nalm" store check calm-images | awk '/^rows/ {print $2}') | 0 | $want, the same |"

# Merging, packing and compacting while a run adds rows: killed again and again, and done once more when the run has ended.
want=$(rows calm)
hits=0 stores=0 merges=0 packs=0 compacts=0
while ((hits < kills / 10)); do
  rm -rf live merged packed
  stores=$((stores + 1))
  "$nalm" "${numbers[@]}" --store live 2>/dev/null &
  run=$!
  while [ ! -d live/seg ]; do sleep 0.01; done
  while kill -0 "$run" 2>/dev/null && ((merges + packs + compacts < kills / 10)); do
    if hit 20 "$nalm" store merge live --into merged; then merges=$((merges + 1)); fi
    if hit 60 "$nalm" store pack live --into packed; then packs=$((packs + 1)); fi
    if hit 40 "$nalm" store compact live; then compacts=$((compacts + 1)); fi
  done
  hits=$((merges + packs + compacts))
  wait "$run"
  "$nalm" store merge live --into merged >/dev/null
  "$nalm" store pack live --into packed 2>/dev/null
  for store in live merged packed; do
    "$nalm" store check "$store" >/dev/null
    [ "$(rows "$store")" = "$want" ] || { echo "$store differs after $hits kills" >&2; exit 1; }
  done
done
echo "| \`nalm store merge\` ($merges), \`pack\` ($packs), \`compact\` ($compacts) during \`nalm run\` (stores: $stores) | $hits | $("$nalm" store check merged | awk '/^rows/ {print $2}') each | 0 | $want, the same |"
