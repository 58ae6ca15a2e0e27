#!/usr/bin/env bash
# Puts what record/cluster holds between the markers of docs/cluster.md: each pair of them names a file of the record.
set -euo pipefail
cd "$(dirname "$0")/.."
page=$(mktemp)
trap 'rm -f "$page"' EXIT
awk '
  /^<!-- \/cluster:/ { inside = 0 }
  !inside { print }
  /^<!-- cluster:/ {
    inside = 1
    file = "record/cluster/" substr($2, 9)
    fence = file ~ /\.txt$/
    if (fence) print "```text"
    while ((status = (getline text < file)) > 0) print text
    if (status < 0) { print file " cannot be read" > "/dev/stderr"; exit 1 }
    if (fence) print "```"
    close(file)
  }' docs/cluster.md >"$page"
cat "$page" >docs/cluster.md
