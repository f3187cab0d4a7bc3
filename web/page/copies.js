// The questions of the layout and of what is side by side for a shell, a file and Python, and the address for both.
'use strict';

const copies = (() => {
  const kinds = [['command', 'as command'], ['yaml', 'as YAML'], ['python', 'as Python']];
  let asked = 0;

  async function copy(text, button) {
    await navigator.clipboard.writeText(text);
    const before = button.textContent;
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = before; }, 1500);
  }

  function box(id, title, text) {
    const code = make('pre', { id: `copy-${id}`, tabindex: 0, 'aria-label': title }, text);
    const button = make('button', { type: 'button', onclick: (event) => copy(text, event.target) }, 'Copy');
    return make('div', { class: 'copy' }, make('div', { class: 'copy-head' }, make('h3', {}, title), button), code);
  }

  // A question in each form; of one that is refused there are none.
  async function boxes(prefix, words, copied) {
    const answer = await engine.ask({ ask: 'copies', ...copied });
    return answer.error ? [] : kinds.map(([kind, title]) => box(prefix + kind, words(title), answer[kind]));
  }

  async function update() {
    const number = ++asked, compared = compare.question();
    const layout = await boxes('', (title) => title.replace(/^a/, 'A'),
      { values: replay.traceValues() ?? question.values() });
    const comparison = compared ? await boxes('compare-', (title) => `Compare ${title}`, compared) : [];
    if (number !== asked) return;
    const missing = [modelFile.notInAddress(), replay.notInAddress()].filter(Boolean);
    show('copies', ...layout, ...comparison, box('address', 'As address', location.href),
      ...missing.map((text) => make('p', { class: 'note' }, text)));
    document.body.dataset.copied = number;
  }

  return { update };
})();
