for (const table of document.querySelectorAll('table')) {
  const box = table.parentElement, cue = box.previousElementSibling;
  const look = () => cue.classList.toggle('wide', box.scrollWidth > box.clientWidth + 1);
  look();
  addEventListener('resize', look);
  const value = (row, k) => {
    const text = row.cells[k].textContent.trim(), share = /^(\d+) of (\d+)/.exec(text);
    return share ? [share[1] / share[2], text] : [parseFloat(text), text];
  };
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, k) => {
    const sort = () => {
      const down = head.getAttribute('aria-sort') === 'ascending';
      for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const order = ([a, s], [b, t]) => {
        if (isNaN(a) !== isNaN(b)) return isNaN(a) ? 1 : -1;
        const way = isNaN(a) ? s.localeCompare(t, 'en', {numeric: true}) : a - b;
        return down ? -way : way;
      };
      [...body.rows].map(row => [row, value(row, k)]).sort((a, b) => order(a[1], b[1])).forEach(([row]) => body.append(row));
    };
    head.onclick = sort;
    head.onkeydown = event => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); sort(); } };
  });
}
