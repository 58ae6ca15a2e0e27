#!/usr/bin/env bash
# Other platforms: the workspace and its tests compile for Windows and macOS, and short trainings of every module give on ARM and WebAssembly the
# bits that are recorded in crates/nalm/tests/same_bits.rs; on ARM one step of every task with images, too (crates/nalm-vision/tests/same_bits.rs).
# Installs targets with rustup and, as root on Debian, a linker and an emulator for ARM. What cannot be had is named and left out.
set -euo pipefail
cd "$(dirname "$0")/.."

summary=()
said() { summary+=("$(printf '%-28s %s' "$1" "$2")"); }
skip() {
  echo "SKIPPED: $1: $2"
  said "$1" "SKIPPED: $2"
}

has_target() {
  rustup target add "$1" >/dev/null 2>&1 || [ -d "$(rustc --print target-libdir --target "$1" 2>/dev/null || echo /nowhere)" ]
}

compiles() {
  if ! has_target "$1"; then
    skip "$1" "the target is not here and could not be installed"
  else
    cargo check --workspace --all-targets --locked --target "$1"
    said "$1" "compiles"
  fi
}

# The features are those that the whole workspace asks for, so that its tests need not compile the library again.
same_bits() {
  local started=$SECONDS out bits
  out=$(cargo test ${2:--p nalm} --features nalm/second-order,nalm/csv,nalm/save --locked --test same_bits --target "$1" -- --nocapture --test-threads 1)
  bits=$(sed -n 's/.*bits \([0-9a-f]*\):.*/\1/p' <<<"$out" | paste -sd ' ')
  [ -n "$bits" ]
  said "$1" "same bits: $bits ($((SECONDS - started)) s)"
}

compiles x86_64-pc-windows-gnu
compiles aarch64-apple-darwin

host=$(rustc -vV | sed -n 's/^host: //p')
cargo test -p nalm -p nalm-vision --features nalm/second-order,nalm/csv,nalm/save --locked --test same_bits
said "$host" "same bits"

arm=aarch64-unknown-linux-gnu
has_tools() { command -v qemu-aarch64 >/dev/null && command -v aarch64-linux-gnu-gcc >/dev/null; }
if ! has_tools && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends \
    qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross; } >/dev/null 2>&1 || true
fi
if ! has_target "$arm"; then
  skip "$arm" "the target is not here and could not be installed"
elif ! has_tools; then
  skip "$arm" "qemu-aarch64 or aarch64-linux-gnu-gcc is not here and could not be installed"
else
  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" same_bits "$arm" "-p nalm -p nalm-vision"
fi

wasm=wasm32-wasip1
if ! has_target "$wasm"; then
  skip "$wasm" "the target is not here and could not be installed"
elif ! node -e 'require("node:wasi")' 2>/dev/null; then
  skip "$wasm" "node, which runs it, is not here"
else
  # Without vector instructions it takes several times as long.
  CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS="-C target-feature=+simd128" \
    CARGO_TARGET_WASM32_WASIP1_RUNNER="node --no-warnings $PWD/scripts/wasi.mjs" same_bits "$wasm"
fi

printf '\n'
printf '%s\n' "${summary[@]}"
