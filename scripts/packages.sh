#!/usr/bin/env bash
# Packages every crate that is meant to be published, and builds each from its packaged sources.
# Prints what is in the packages; --list does no more than that.
set -euo pipefail
cd "$(dirname "$0")/.."
crates="nalm nalm-fit nalm-vision nalm-lab nalm-cli"

for crate in $crates; do
  # Copies and no links, which would become files with a path in them on Windows.
  for licence in LICENSE-MIT LICENSE-APACHE; do
    cmp "$licence" "crates/$crate/$licence"
  done
  files=$(cargo package --locked --allow-dirty --list -p "$crate")
  for needed in README.md LICENSE-MIT LICENSE-APACHE src/lib.rs; do
    grep -qx "$needed" <<<"$files" || { echo "packages: $crate is without $needed" >&2; exit 1; }
  done
  # Only what is written by hand: no digits, records or pages.
  known='^(src|tests|examples|benches|experiments|suites)/|^(build\.rs|statements\.toml|README\.md|LICENSE-(MIT|APACHE)|Cargo\..*|\.cargo_vcs_info\.json)$'
  if other=$(grep -vE "$known" <<<"$files"); then
    printf 'packages: these files do not belong into %s:\n%s\n' "$crate" "$other" >&2
    exit 1
  fi
  echo "$crate: $(wc -l <<<"$files") files"
  [ "${1:-}" != --list ] || sed 's/^/    /' <<<"$files"
done
[ "${1:-}" != --list ] || exit 0

# All at once: each is built against the others' packages, which no registry has yet. Cargo unpacks those beside what it has downloaded, and takes what it
# unpacked from the same folder before for the same package, although it has changed: away with that.
rm -rf "${CARGO_HOME:-$HOME/.cargo}"/registry/{src,cache}/-*/nalm{,-fit,-vision,-lab,-cli}-[0-9]*
cargo package --locked --allow-dirty $(printf -- '-p %s ' $crates)
for crate in $crates; do
  package=$(ls -t "${CARGO_TARGET_DIR:-target}/package/$crate"-[0-9]*.crate | head -1)
  size=$(wc -c <"$package")
  echo "$crate: $((size / 1024)) KB"
  [ "$size" -lt 1000000 ] || { echo "packages: that is more than sources need" >&2; exit 1; }
done
