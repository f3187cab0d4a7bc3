// The same question for a shell, a file and Python, each with a button that copies it.
'use strict';

const copies = (() => {
  const kinds = [['command', 'As command'], ['yaml', 'As YAML'], ['python', 'As Python'], ['address', 'As address']];

  async function copy(text, button) {
    await navigator.clipboard.writeText(text);
    const before = button.textContent;
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = before; }, 1500);
  }

  function box([kind, title], text) {
    const code = make('pre', { id: `copy-${kind}`, tabindex: 0, 'aria-label': title }, text);
    const button = make('button', { type: 'button', onclick: (event) => copy(text, event.target) }, 'Copy');
    return make('div', { class: 'copy' }, make('div', { class: 'copy-head' }, make('h3', {}, title), button), code);
  }

  async function update() {
    const answer = await engine.ask({ ask: 'copies', values: replay.traceValues() ?? question.values() });
    if (answer.error) return;
    show('copies', ...kinds.map((kind) => box(kind, kind[0] === 'address' ? location.href : answer[kind[0]])));
  }

  return { update };
})();
