#!/usr/bin/env bash
# Prints NOTICES: name, version, licence and authors of every crate in the release binary that others wrote.
# usage: notices.sh [TARGET]
# Needs cargo and python3, and the crates of Cargo.lock on this machine (cargo fetch).
set -euo pipefail
cd "$(dirname "$0")/.."

target=${1:-$(rustc -vV | sed -n 's/^host: //p')}
cargo metadata --format-version 1 --locked --offline --filter-platform "$target" | python3 -c '
import json, sys

metadata = json.load(sys.stdin)
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
members = set(metadata["workspace_members"])

def is_macro(package):
    return any("proc-macro" in target["kind"] for target in package["targets"])

# What macros need runs in the compiler and is not in the binary.
found, waiting = set(), [id for id in members if packages[id]["name"] == "nalm-cli"]
while waiting:
    id = waiting.pop()
    if id in found or is_macro(packages[id]):
        continue
    found.add(id)
    for dependency in nodes[id]["deps"]:
        if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
            waiting.append(dependency["pkg"])

print("nalm contains work of others:")
for package in sorted((packages[id] for id in found - members), key=lambda package: package["name"]):
    print("\n{name} {version} ({license})".format(**package))
    authors = ", ".join(package["authors"]) or "authors: see its repository"
    print(f"    {authors}")
    if package["repository"]:
        print("    " + package["repository"])
'
