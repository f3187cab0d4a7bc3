// The memory of one rank, a bar a setting and all to one scale, with as many requests as run at once.
'use strict';

const bars = (() => {
  let asks = 0;

  const share = (part, bar) => percent(part.bytes / bar.bytes);
  const exact = (part, bar) => `${part.text} (${digits(part.bytes)} bytes), ${share(part, bar)}`;

  // A part opens its derivation: of the question alone, or of the setting at `i`.
  function part(one, bar, i, asked) {
    const words = `${one.title}: ${exact(one, bar)}`, hasRoom = one.bytes > 0.04 * bar.bytes;
    const button = make('button', { type: 'button', class: `mem ${one.name}`, title: words, 'aria-label': words,
      'data-bytes': one.bytes, onclick: () => derivation.openParts(`${bar.name}, ${one.title}`, exact(one, bar),
        { ...asked, setting: i, full: true, symbols: one.symbols }) }, hasRoom ? one.title : '');
    button.style.width = `${(100 * one.bytes) / bar.bytes}%`;
    return button;
  }

  function figure(bar, i, asked, longest) {
    if (bar.refused) return make('p', { class: 'note refused' }, `${bar.name}: ${bar.refused}`);
    const known = bar.evidence === 'run' ? '' : ` (${bar.evidence})`;
    const box = make('div', { class: 'membar', role: 'group', 'aria-label': bar.name },
      ...bar.parts.filter((one) => one.bytes > 0).map((one) => part(one, bar, i, asked)));
    box.style.width = `${(100 * bar.bytes) / longest}%`;
    return make('figure', { class: 'page', 'data-setting': bar.name }, make('figcaption', {},
      make('strong', {}, bar.name), `${known}: ${digits(bar.requests)} requests of ${digits(bar.tokens)} tokens in `,
      make('span', { title: `${digits(bar.bytes)} bytes` }, bar.text)), box);
  }

  function legend(drawn) {
    const there = drawn[0].parts.filter((one, at) => drawn.some((bar) => bar.parts[at].bytes > 0));
    return make('ul', { class: 'legend' }, ...there.map((one) =>
      make('li', {}, make('span', { class: `swatch ${one.name}` }), one.title)));
  }

  async function update() {
    const number = ++asks, asked = { ...question.layout(), vary: question.vary() };
    const answer = modelFile.problem() ?? await engine.ask({ ask: 'bars', ...asked });
    if (number !== asks) return;
    // What is wrong with the question stands above all.
    if (answer.error) show('bars');
    else {
      const drawn = answer.settings.filter((bar) => !bar.refused);
      const longest = Math.max(...drawn.map((bar) => bar.bytes));
      show('bars', ...answer.settings.map((bar, i) => figure(bar, i, asked, longest)),
        ...(drawn.length ? [legend(drawn)] : []));
    }
    document.body.dataset.bars = number;
  }

  return { update };
})();
