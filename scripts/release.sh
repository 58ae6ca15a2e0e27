#!/usr/bin/env bash
# Builds release archives for every platform that can be linked here, into dist/: the binary, licences, notices and the README.
# usage: release.sh [TARGET…]
# Needs rustup, and of Debian's packages gcc-aarch64-linux-gnu (ARM), gcc-mingw-w64-x86-64 and zip (Windows). What cannot be built here is named and
# left out; on a Mac, aarch64-apple-darwin and x86_64-apple-darwin are built as well.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
built=${CARGO_TARGET_DIR:-target}
dist=$PWD/dist
mkdir -p "$dist"

# The program that links for a target, or nothing where the compiler's own does.
linker() {
  case $1 in
    "$(rustc -vV | sed -n 's/^host: //p')") ;;
    x86_64-pc-windows-gnu) echo x86_64-w64-mingw32-gcc ;;
    aarch64-unknown-linux-gnu) echo aarch64-linux-gnu-gcc ;;
    # Rust brings the C library.
    x86_64-unknown-linux-musl) echo cc ;;
    *-apple-darwin) if [ "$(uname)" = Darwin ]; then echo cc; else echo "Apple's linker"; fi ;;
    *) echo "a linker for $1" ;;
  esac
}

targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(
  x86_64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-gnu x86_64-pc-windows-gnu
  aarch64-apple-darwin x86_64-apple-darwin
)
for target in "${targets[@]}"; do
  link=$(linker "$target")
  if [ -n "$link" ] && ! command -v "$link" >/dev/null; then
    echo "SKIPPED: $target: $link is not here"
    continue
  elif ! rustup target add "$target" >/dev/null 2>&1; then
    echo "SKIPPED: $target: rustup cannot install it"
    continue
  fi
  started=$SECONDS
  name=$(tr 'a-z-' 'A-Z_' <<<"$target")
  if [ -n "$link" ]; then export "CARGO_TARGET_${name}_LINKER=$link"; fi
  cargo build --profile dist --locked --quiet -p nalm-cli --target "$target"
  folder=nalm-$version-$target
  rm -rf "${dist:?}/$folder"
  mkdir "$dist/$folder"
  cp LICENSE LICENSE-MIT LICENSE-APACHE README.md "$dist/$folder/"
  scripts/notices.sh "$target" >"$dist/$folder/NOTICES"
  if [[ $target = *windows* ]]; then
    cp "$built/$target/dist/nalm.exe" "$dist/$folder/"
    archive=$folder.zip
    (cd "$dist" && rm -f "$archive" && zip -qr "$archive" "$folder")
  else
    cp "$built/$target/dist/nalm" "$dist/$folder/"
    archive=$folder.tar.gz
    tar -C "$dist" -czf "$dist/$archive" "$folder"
  fi
  rm -rf "${dist:?}/$folder"
  echo "$archive: $(($(wc -c <"$dist/$archive") / 1024)) KB, $((SECONDS - started)) s"
done
(cd "$dist" && { sha256sum nalm-"$version"-* || shasum -a 256 nalm-"$version"-*; } >SHA256SUMS)
