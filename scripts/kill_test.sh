#!/usr/bin/env bash
# Kills commands with SIGKILL at random moments, lets them finish, and compares the compacted store with an undisturbed one.
#
#   scripts/kill_test.sh [KILLS]
#
# Most kills hit `nalm run`; a tenth hit a run with images amid its epochs, and a tenth merging and packing. Prints what it did as a table.
set -euo pipefail
cd "$(dirname "$0")/.."
kills=${1:-200}
cargo build --release --quiet -p nalm-cli
nalm=$PWD/target/release/nalm
export NALM_MNIST=$PWD/data/mnist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
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

# Merging and packing.
want=$(rows calm)
hits=0
while ((hits < kills / 10)); do
  rm -rf merged packed
  if hit 30 "$nalm" store merge calm --into merged; then hits=$((hits + 1)); fi
  if hit 60 "$nalm" store pack calm --into packed; then hits=$((hits + 1)); fi
  "$nalm" store merge calm --into merged >/dev/null 2>&1
  "$nalm" store pack calm --into packed 2>/dev/null
  [ "$(rows merged)" = "$want" ] && [ "$(rows packed)" = "$want" ] || { echo "a copy differs after $hits kills" >&2; exit 1; }
done
echo "| \`nalm store merge\` and \`pack\` | $hits | $("$nalm" store check merged | awk '/^rows/ {print $2}') | 0 | $want, the same |"
