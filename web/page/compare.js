// Settings side by side: engines, or the values of any other key.
'use strict';

const compare = (() => {
  const release = 'engine.release';
  let asks = 0, compared = null;  // the question of the table that is shown; null where it has fewer than two settings

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

  const nameOf = (row) => row.name.replaceAll('_', ' ');
  // The name, and the unit where the name does not end with it.
  function title(row) {
    const words = nameOf(row), unit = row.unit === '%' ? ' percent' : ` ${row.unit}`;
    return [words.endsWith(unit) ? words.slice(0, -unit.length) : words,
      make('span', { class: 'unit' }, ` ${row.unit}`)];
  }

  // The number of a row in setting `i`; its unit stands at the row.
  function cell(row, i, answer, asked) {
    const value = row.values[i];
    const shown = value === null ? '–' : typeof value === 'number' ? digits(value) : row.texts[i];
    const number = { name: row.name, title: `${nameOf(row)}, ${answer.settings[i].name}`, value, text: row.texts[i],
      symbol: value === null ? '' : row.symbols[i] };
    return make('td', {}, derivation.number(number, { ...asked, setting: i }, shown));
  }

  function rules(row) {
    const lists = row.rules.map((rule) => make('li', {}, make('strong', {}, rule.symbol), ': ',
      [...new Set(rule.rules.filter(Boolean))].join(' | '),
      make('span', { class: 'source' }, ` ${[...new Set(rule.sources.filter(Boolean))].join(' | ')}`)));
    return make('details', {}, make('summary', {}, ...title(row)), make('ul', {}, ...lists));
  }

  function table(answer, asked) {
    const empty = (row) => row.values.every((value) => value === null || value === 0);
    const head = answer.settings.map((setting) => make('th', { scope: 'col' }, setting.name));
    const shown = answer.rows.filter((row) => !empty(row));
    const line = (row) => make('tr', { class: row.differs ? 'differs' : '' },
      make('th', { scope: 'row' }, ...(row.differs && row.rules.length ? [rules(row)] : title(row))),
      ...row.values.map((_, i) => cell(row, i, answer, asked)));
    const tableOf = (rows, ...caption) => make('table', { class: 'compare' }, ...caption,
      make('thead', {}, make('tr', {}, make('td'), ...head.map((one) => one.cloneNode(true)))),
      make('tbody', {}, ...rows.map(line)));
    const alike = shown.filter((row) => !row.differs);
    const refused = answer.settings.filter((setting) => setting.refused)
      .map((setting) => make('p', { class: 'note refused' }, `${setting.name}: ${setting.refused}`));
    return [...refused, tableOf(shown.filter((row) => row.differs), make('caption', {}, 'What differs; the name of a ' +
      'row opens the rules that make it so, a number its derivation')),
    ...(alike.length ? [make('details', { id: 'alike' }, make('summary', {}, `Same for all: ${alike.length} rows`),
      tableOf(alike))] : [])];
  }

  async function update() {
    const number = ++asks, asked = { ...question.layout(), vary: question.vary() };
    const answer = Object.keys(asked.vary).length === 0 ? null : await engine.ask({ ask: 'compare', ...asked });
    if (number !== asks) return;
    compared = answer?.settings?.length >= 2 ? asked : null;
    if (answer === null) show('compare', make('p', { class: 'note' }, 'Choose two releases or more.'));
    else show('compare', ...(answer.error ? [errorText(answer)] : table(answer, asked)));
    document.body.dataset.compared = number;
  }

  return { start, update, question: () => compared };
})();
