// The numbers of the layout: those that are looked at first as tiles, all of them as a table.
'use strict';

const figures = (() => {
  const tiles = ['block_size_tokens', 'page_bytes', 'padding_percent', 'num_blocks', 'usable_concurrency',
    'kv_cache_tokens', 'bytes_per_request', 'over_ideal_percent', 'min_cacheable_prefix_tokens'];
  let asked = 0;

  function tile(row) {
    return make('div', { class: 'tile' }, make('span', { class: 'tile-title' }, row.title), derivation.number(row));
  }

  function table(rows) {
    return make('table', { class: 'figures' }, make('caption', {}, 'What was set, then sizes, ids, capacity and waste'),
      make('tbody', {}, ...rows.map((row) => make('tr', {},
        make('th', { scope: 'row', class: row.title.startsWith('- ') ? 'below' : '' }, row.title.replace(/^- /, '')),
        make('td', {}, derivation.number(row))))));
  }

  function summary(answer) {
    const row = (name) => answer.rows.find((one) => one.name === name).text;
    const read = answer.evidence === 'run' ? '' : `; rules are ${answer.evidence}, no run of an engine covers them`;
    const packs = answer.num_packs > 1 ? `, the first of ${answer.num_packs} packs` : '';
    return `${answer.model}, ${row('release')}, N = ${answer.pack}${packs}: block of ${row('block_size_tokens')}, ` +
      `${row('usable_concurrency')} requests of ${row('max_model_len')} at once${read}`;
  }

  function render(answer) {
    show('summary', summary(answer));
    show('tiles', ...tiles.map((name) => tile(answer.rows.find((row) => row.name === name))));
    show('notices', ...answer.start_errors.map((text) => make('li', { class: 'refused' }, text)),
      ...answer.warnings.filter((warning) => !warning.code.startsWith('kernel_')).map((warning) => make('li', { 'data-code': warning.code }, warning.message)),
      ...answer.notes.map((text) => make('li', {}, text)));
    show('all-figures', table(answer.rows));
    kernels.render(answer.kernels);
    pageMap.render(answer);
  }

  // The last answer of several that are under way counts.
  async function update() {
    const number = ++asked, begin = performance.now();
    const answer = modelFile.problem() ?? await engine.ask({ ask: 'figures', ...question.layout(), ...kernels.asked() });
    if (number !== asked) return;
    at('error').hidden = !answer.error;
    at('results').classList.toggle('stale', Boolean(answer.error));
    if (answer.error) show('error', errorText(answer));
    else render(answer);
    document.body.dataset.figures = number;
    document.body.dataset.milliseconds = (performance.now() - begin).toFixed(1);
  }

  return { update };
})();
