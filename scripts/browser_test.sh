#!/usr/bin/env bash
# Opens a report in a real browser, wide and narrow, and fails if text is cut, the console has an error, or a figure lacks its data.
# usage: browser_test.sh FOLDER   (a folder that `nalm report` wrote)
# Installs Debian's chromium where that is possible; otherwise says that it was skipped.
set -euo pipefail
folder=$(cd "${1:?give the folder of a report}" && pwd)

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends chromium fonts-dejavu-core; } \
    >/dev/null 2>&1 || true
  browser=$(command -v chromium || true)
fi
if [ -z "$browser" ]; then
  echo "SKIPPED: no browser here and none could be installed; the report was not opened"
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$folder" "$work/report"

# What a reader would notice, as a list of complaints at the end of the page.
cat >"$work/check.js" <<'JS'
const complaints = [];
const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
for (const svg of document.querySelectorAll('svg')) {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')];
  if (texts.length === 0) complaints.push('a figure has no selectable text');
  for (const text of texts)
    if (!inside(text.getBoundingClientRect(), frame)) complaints.push('cut in a figure: ' + text.textContent);
  for (let i = 0; i < texts.length; i++)
    for (let j = i + 1; j < texts.length; j++) {
      const a = texts[i].getBoundingClientRect(), b = texts[j].getBoundingClientRect();
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 2 && high > 4) complaints.push('texts overlap: ' + texts[i].textContent + ' / ' + texts[j].textContent);
    }
}
for (const figure of document.querySelectorAll('figure')) {
  const links = [...figure.querySelectorAll('a')].map(a => a.getAttribute('href'));
  if (!links.some(link => link.endsWith('.csv'))) complaints.push('a figure has no data link');
}
if (document.documentElement.scrollWidth > window.innerWidth + 1)
  complaints.push('the page is wider than the window: ' + document.documentElement.scrollWidth);
for (const element of document.querySelectorAll('h1,h2,p,li,figcaption'))
  if (element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0) complaints.push('cut: ' + element.textContent.slice(0, 60));
const result = document.createElement('pre');
result.id = 'complaints';
result.textContent = complaints.length ? complaints.join('\n') : 'none';
document.body.append(result);
JS

failed=0
for page in "$work"/report/*.html; do
  name=$(basename "$page")
  # Every link leads to a file that is there.
  for link in $(grep -o 'href="[^"]*"' "$page" | sed 's/href="//;s/"//' | sort -u); do
    [ -s "$work/report/$link" ] || { echo "$name: $link is missing"; failed=1; }
  done
  { sed 's|</body></html>||' "$page"; echo '<script>'; cat "$work/check.js"; echo '</script></body></html>'; } >"$work/report/checked.html"
  for width in 1200 420; do
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update \
      --disable-sync --user-data-dir="$work/profile" --window-size=$width,900 --enable-logging=stderr --log-level=0 --virtual-time-budget=5000 \
      --dump-dom "file://$work/report/checked.html" >"$work/dom" 2>"$work/log" || { echo "$name: the browser failed"; tail -n 5 "$work/log"; failed=1; continue; }
    found=$(sed -n '/<pre id="complaints">/,/<\/pre>/p' "$work/dom" | sed 's/<[^>]*>//g' | sed '/^$/d')
    [ -n "$found" ] || found="the check did not run"
    [ "$found" = none ] || { echo "$name at $width: $found"; failed=1; }
    # The pages have no scripts, so whatever reaches the console is a fault.
    if grep 'CONSOLE' "$work/log"; then failed=1; fi
  done
  rm "$work/report/checked.html"
done
[ "$failed" = 0 ] && echo "the report opens in $("$browser" --version 2>/dev/null | head -n 1): nothing cut, no error, data beside every figure"
exit "$failed"
