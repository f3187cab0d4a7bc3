// Settings side by side: engines, or the values of any other key.
'use strict';

const compare = (() => {
  const release = 'engine.release';
  let asked = 0;

  function checked() {
    return [...document.querySelectorAll('#compare-controls input[type=checkbox]')]
      .filter((box) => box.checked).map((box) => box.value);
  }

  function changed() {
    const next = {};
    if (checked().length) next[release] = checked().join(',');
    const line = at('vary').value.trim(), equals = line.indexOf('=');
    if (equals > 0) next[line.slice(0, equals)] = line.slice(equals + 1);
    question.setVary(next);
  }

  function start() {
    const chosen = (question.vary()[release] ?? '').split(',');
    const boxes = controls.releases().map((name) => make('label', { class: 'box' },
      make('input', { type: 'checkbox', value: name, checked: chosen.includes(name), onchange: changed }), name));
    const other = Object.entries(question.vary()).find(([key]) => key !== release);
    show('compare-controls', make('fieldset', { class: 'boxes' }, make('legend', {}, 'Releases'), ...boxes),
      make('label', { for: 'vary' }, 'and each value of'),
      make('input', { id: 'vary', spellcheck: 'false', autocomplete: 'off', value: other ? other.join('=') : '',
        placeholder: 'engine.attention_pack_size=1,3,5', onchange: changed }));
  }

  const cell = (value, row) => make('td', { 'data-name': row.name, 'data-value': JSON.stringify(value) },
    value === null ? '–' : value === true ? 'yes' : value === false ? 'no' : digits(value));

  const title = (row) => [row.name.replaceAll('_', ' '), make('span', { class: 'unit' }, ` ${row.unit}`)];

  function rules(row) {
    const lists = row.rules.map((rule) => make('li', {}, make('strong', {}, rule.symbol), ': ',
      [...new Set(rule.rules.filter(Boolean))].join(' | '),
      make('span', { class: 'source' }, ` ${[...new Set(rule.sources.filter(Boolean))].join(' | ')}`)));
    return make('details', {}, make('summary', {}, ...title(row)), make('ul', {}, ...lists));
  }

  function table(answer) {
    const empty = (row) => row.values.every((value) => value === null || value === 0);
    const head = answer.settings.map((setting) => make('th', { scope: 'col' }, setting.name));
    const shown = answer.rows.filter((row) => !empty(row));
    const rows = shown.map((row) => make('tr', { class: row.differs ? 'differs' : '' },
      make('th', { scope: 'row' }, ...(row.differs && row.rules.length ? [rules(row)] : title(row))),
      ...row.values.map((value) => cell(value, row))));
    const refused = answer.settings.filter((setting) => setting.refused)
      .map((setting) => make('p', { class: 'note refused' }, `${setting.name}: ${setting.refused}`));
    return [...refused, make('table', { class: 'compare' },
      make('caption', {}, 'Rows that differ are marked; the name of one opens the rules that make it so'),
      make('thead', {}, make('tr', {}, make('td'), ...head)), make('tbody', {}, ...rows))];
  }

  async function update() {
    const number = ++asked;
    const answer = Object.keys(question.vary()).length === 0 ? null
      : await engine.ask({ ask: 'compare', ...question.layout(), vary: question.vary() });
    if (number !== asked) return;
    if (answer === null) show('compare', make('p', { class: 'note' }, 'Choose two releases or more.'));
    else show('compare', ...(answer.error ? [errorText(answer)] : table(answer)));
    document.body.dataset.compared = number;
  }

  return { start, update };
})();
