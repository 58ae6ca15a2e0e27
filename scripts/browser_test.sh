#!/usr/bin/env bash
# Opens a report in a real browser, wide and narrow, light and dark, and fails if text is cut or too small, the console has an error, a figure lacks its data,
# a table cannot be sorted, or the contents lead nowhere.
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

# What a reader would notice, as a list of complaints.
cat >"$work/check.js" <<'JS'
const complaints = [];
const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
const light = colour => { const [r, g, b] = colour.match(/[\d.]+/g).map(Number); return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255; };
const dark = matchMedia('(prefers-color-scheme:dark)').matches;
if (dark !== light(getComputedStyle(document.body).backgroundColor) < 0.2) complaints.push('the page is not as dark as it is asked to be');
// Each figure is there twice, for wide and for narrow windows; one of the two is seen.
const seen = element => element.getBoundingClientRect().width > 0;
const figures = [...document.querySelectorAll('svg')].filter(seen);
for (const svg of figures) {
  const frame = svg.getBoundingClientRect(), scale = frame.width / svg.viewBox.baseVal.width;
  const texts = [...svg.querySelectorAll('text')];
  if (texts.length === 0) complaints.push('a figure has no selectable text');
  if (dark !== light(getComputedStyle(svg.querySelector('.paper')).fill) < 0.2) complaints.push('the paper of a figure is not as dark as the page');
  for (const text of texts) {
    if (!inside(text.getBoundingClientRect(), frame)) complaints.push('cut in a figure: ' + text.textContent);
    const size = parseFloat(getComputedStyle(text).fontSize) * scale;
    if (size < 11) complaints.push('text of ' + size.toFixed(1) + ' px in a figure: ' + text.textContent);
    if (dark && !text.hasAttribute('fill') && light(getComputedStyle(text).fill) < 0.5) complaints.push('dark on dark: ' + text.textContent);
  }
  const boxes = texts.map(text => text.getBoundingClientRect());
  for (let i = 0; i < texts.length; i++)
    for (let j = i + 1; j < texts.length; j++) {
      const a = boxes[i], b = boxes[j];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 2 && high > 4) complaints.push('texts overlap: ' + texts[i].textContent + ' / ' + texts[j].textContent);
    }
}
for (const figure of document.querySelectorAll('figure')) {
  const links = [...figure.querySelectorAll('a')].map(a => a.getAttribute('href'));
  if (!links.some(link => link.endsWith('.csv'))) complaints.push('a figure has no data link');
  if ([...figure.querySelectorAll('svg')].filter(seen).length !== 1) complaints.push('a figure is seen twice or not at all');
}
for (const link of document.querySelectorAll('a[href^="#"]'))
  if (!document.getElementById(decodeURIComponent(link.getAttribute('href').slice(1)))) complaints.push('leads nowhere: ' + link.textContent);
if (document.documentElement.scrollWidth > window.innerWidth + 1)
  complaints.push('the page is wider than the window: ' + document.documentElement.scrollWidth);
for (const element of document.querySelectorAll('h1,h2,p,li,figcaption'))
  if (element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0) complaints.push('cut: ' + element.textContent.slice(0, 60));
for (const box of document.querySelectorAll('.scroll'))
  if (box.scrollWidth > box.clientWidth + 1 && !seen(box.previousElementSibling)) complaints.push('a table is cut without a cue');
for (const box of document.querySelectorAll('pre'))
  if (box.scrollWidth > box.clientWidth + 1) complaints.push('a command is cut: ' + box.textContent.slice(0, 60));
// A click sorts by a column, another one the other way round; no row is lost.
for (const table of document.querySelectorAll('table')) {
  const body = table.tBodies[0], before = [...body.rows].map(row => row.textContent).sort().join();
  [...table.tHead.rows[0].cells].forEach((head, k) => {
    for (const way of ['ascending', 'descending']) {
      head.click();
      if (head.getAttribute('aria-sort') !== way) complaints.push('a click does not sort: ' + head.textContent);
      const numbers = [...body.rows].map(row => row.cells[k].textContent).filter(text => !/^\d+ of/.test(text)).map(parseFloat).filter(x => !isNaN(x));
      const sign = way === 'ascending' ? 1 : -1;
      if (head.classList.contains('n') && numbers.some((x, i) => i > 0 && sign * (x - numbers[i - 1]) < 0)) complaints.push('not sorted: ' + head.textContent);
    }
  });
  if ([...body.rows].map(row => row.textContent).sort().join() !== before) complaints.push('sorting loses rows');
}
parent.postMessage(innerWidth + ' px: ' + (complaints.length ? complaints.slice(0, 12).join('\n') : 'none'), '*');
JS
# Telephones draw scroll bars over the page, so there are none (--hide-scrollbars). A browser's own window has a least width, a frame in it has none. The pages of a small and of a large telephone, and a wide one.
cat >"$work/frames.html" <<'HTML'
<body><iframe src="report/checked.html" style="width:360px;height:900px"></iframe><iframe src="report/checked.html" style="width:420px;height:900px"></iframe><iframe src="report/checked.html" style="width:1400px;height:900px"></iframe>
<script>onmessage = event => { const p = document.createElement('pre'); p.textContent = event.data + '\n'; document.body.append(p); }</script></body>
HTML

failed=0
for page in "$work"/report/*.html; do
  name=$(basename "$page")
  # Every link leads to a file that is there.
  for link in $(grep -o 'href="[^"#][^"]*"' "$page" | sed 's/href="//;s/"//;s/#.*//' | sort -u); do
    [ -s "$work/report/$link" ] || { echo "$name: $link is missing"; failed=1; }
  done
  { sed 's|</body></html>||' "$page"; echo '<script>'; cat "$work/check.js"; echo '</script></body></html>'; } >"$work/report/checked.html"
  for scheme in 1 0; do
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update \
      --disable-sync --user-data-dir="$work/profile" --hide-scrollbars --window-size=1900,1000 --enable-logging=stderr --log-level=0 --virtual-time-budget=10000 \
      --blink-settings=preferredColorScheme=$scheme \
      --dump-dom "file://$work/frames.html" >"$work/dom" 2>"$work/log" || { echo "$name: the browser failed"; tail -n 5 "$work/log"; failed=1; continue; }
    found=$(sed -n '/<pre>/,/<\/pre>/p' "$work/dom" | sed 's/<[^>]*>//g' | sed '/^ *$/d')
    [ "$(grep -o 'px: none' <<<"$found" | wc -l)" = 3 ] || { echo "$name (colour scheme $scheme): ${found:-the check did not run}"; failed=1; }
    # The pages have one small script, so whatever reaches the console is a fault.
    if grep 'CONSOLE' "$work/log"; then failed=1; fi
  done
  rm "$work/report/checked.html"
done
[ "$failed" = 0 ] && echo "the report opens in $("$browser" --version 2>/dev/null | head -n 1), at 360, 420 and 1400 px, light and dark: nothing cut, no error, no text below 11 px, \
data beside every figure, tables that sort, contents that lead somewhere"
exit "$failed"
