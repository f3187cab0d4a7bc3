// The derivation of a number, in a dialog: its rule, the rule with the values in place, and where they come from.
'use strict';

const derivation = (() => {
  function input(term) {
    const text = `${term.symbol} = ${term.text}`;
    if (term.step === undefined) return make('li', {}, text);
    return make('li', {}, make('a', { href: `#step-${term.step}`, onclick: (event) => {
      event.preventDefault();
      const step = at(`step-${term.step}`);
      step.scrollIntoView({ block: 'nearest' });
      step.focus();
    } }, text));
  }

  function step(one, index) {
    return make('li', { id: `step-${index}`, tabindex: -1 },
      make('strong', {}, one.result.symbol), ' = ', make('span', { class: 'value' }, one.text),
      make('code', { class: 'rule' }, one.rule),
      one.values === null ? '' : make('code', { class: 'rule' }, one.values),
      one.inputs.length ? make('ul', {}, ...one.inputs.map(input)) : '',
      make('p', { class: 'source' }, one.source));
  }

  const open = (row, asked) => openParts(row.title.replace(/^- /, ''), row.text, { ...asked, symbol: row.symbol });

  // Of a number of which `asked` names the symbol, or several whose sum it is.
  async function openParts(title, text, asked) {
    const answer = await engine.ask({ ask: 'derivation', ...asked });
    show('derivation-title', `${title}: ${text}`);
    show('derivation-steps', ...(answer.error ? [errorText(answer)] : answer.steps.map(step)));
    at('derivation').showModal();
    at('derivation-steps').scrollTop = 0;
  }

  // The text of a number; a button where it is derived. `asked` is what it answers, `shown` its text where the unit
  // stands elsewhere.
  function number(row, asked = null, shown = row.text) {
    const attributes = { class: 'number', 'data-name': row.name, 'data-value': JSON.stringify(row.value) };
    if (!row.symbol) return make('span', attributes, shown);
    return make('button', { ...attributes, type: 'button', title: 'How it came about',
      onclick: () => open(row, asked ?? question.layout()) }, shown);
  }

  function start() {
    at('derivation-close').addEventListener('click', () => at('derivation').close());
    at('derivation').addEventListener('click', (event) => {
      if (event.target === at('derivation')) at('derivation').close();
    });
  }

  return { number, openParts, start };
})();
