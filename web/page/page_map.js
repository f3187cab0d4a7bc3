// One page as each kind of group sees it: a bar to scale, of attention pages with several kernel blocks the first of
// them enlarged below.
'use strict';

const pageMap = (() => {
  const width = 1000, height = 40;

  function bar(page, begin, end, label) {
    const x = (byte) => (width * (byte - begin)) / (end - begin);
    const image = draw('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', class: 'bar',
      role: 'img', 'aria-label': label });
    for (const part of page.parts) {
      if (part.end <= begin || part.begin >= end) continue;
      const left = x(Math.max(part.begin, begin)), right = x(Math.min(part.end, end));
      image.append(draw('rect', { x: left, y: 0, width: right - left, height, class: `part ${part.kind}`,
        'data-begin': part.begin, 'data-end': part.end }, draw('title', {}, part.title)));
    }
    return make('div', { class: 'bar-box' }, image, words(page, begin, end));
  }

  // Words beside the drawing, which is stretched to the width of the window: those for which there is room.
  function words(page, begin, end) {
    const row = make('div', { class: 'words', 'aria-hidden': 'true' });
    for (const part of page.parts) {
      const share = (part.end - part.begin) / (end - begin);
      if (part.begin < begin || part.end > end || share < 0.03) continue;
      const text = part.layer === null ? part.word : `${part.layer} ${part.word}`;
      const word = make('span', {}, text);
      word.style.left = `${(100 * (part.begin - begin)) / (end - begin)}%`;
      word.style.width = `${100 * share}%`;
      row.append(word);
    }
    return row;
  }

  // Bytes of a kind in a page, for those who do not see it.
  function inWords(page) {
    const bytes = new Map();
    for (const part of page.parts) bytes.set(part.word, (bytes.get(part.word) || 0) + part.end - part.begin);
    return [...bytes].map(([word, count]) => `${word} ${digits(count)} bytes`).join(', ');
  }

  function pageBox(page) {
    const box = make('figure', { class: 'page' }, make('figcaption', {}, page.title),
      bar(page, 0, page.bytes, `One page of ${digits(page.bytes)} bytes: ${inWords(page)}`),
      make('div', { class: 'scale' }, make('span', {}, '0'), make('span', {}, `${digits(page.bytes)} bytes`)));
    if (page.kernel_blocks > 1)
      box.append(make('p', { class: 'note' }, 'Its first kernel block, enlarged:'),
        bar(page, 0, page.kernel_block_bytes, 'The first kernel block, enlarged'),
        make('div', { class: 'scale' }, make('span', {}, '0'),
          make('span', {}, `${digits(page.kernel_block_bytes)} bytes`)));
    return box;
  }

  function legend(pages) {
    const kinds = new Map();
    for (const page of pages) for (const part of page.parts) kinds.set(part.kind, part.word);
    return make('ul', { class: 'legend' }, ...[...kinds].map(([kind, word]) =>
      make('li', {}, make('span', { class: `swatch ${kind}` }), word)));
  }

  return {
    render(figures) {
      if (figures.pages_refused) show('page-map', make('p', { class: 'note' }, figures.pages_refused));
      else show('page-map', ...figures.pages.map(pageBox), legend(figures.pages));
    },
  };
})();
