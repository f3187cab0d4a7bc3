// Cards of kernels that somebody dropped, and what the layout does to each.
'use strict';

const kernels = (() => {
  const cards = new Map();  // path: name of the file

  // A card is tried first, so that one that is none leaves the others as they are.
  async function drop(files) {
    const refused = [];
    for (const file of files) {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const answer = await engine.ask({ ask: 'card', path: await engine.keep(`tried/${file.name}`, bytes) });
      if (answer.error) refused.push(errorText(answer));
      else cards.set(await engine.keep(`cards/${file.name}`, bytes), file.name);
    }
    show('kernels-state', ...refused);
    await figures.update();
  }

  function forget(path) {
    cards.delete(path);
    show('kernels-state');
    figures.update();
  }

  function render(fits) {
    const paths = [...cards.keys()];
    show('kernel-fits', ...fits.map((fit, i) => make('li', {
      'data-verdict': fit.verdict, class: ['refuses', 'corrupts'].includes(fit.verdict) ? 'refused' : '',
    }, fit.text, ' ', make('button', { type: 'button', 'aria-label': `Leave out ${cards.get(paths[i])}`,
      onclick: () => forget(paths[i]) }, '×'))));
  }

  function start() {
    at('kernel-cards').addEventListener('change', (event) => drop([...event.target.files]));
    controls.accept(at('kernels-drop'), (first, all) => drop(all));
  }

  return { start, render, asked: () => (cards.size ? { kernels: [...cards.keys()] } : {}) };
})();
