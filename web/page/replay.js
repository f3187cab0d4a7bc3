// A trace through the layout: what it finds and where the rest went, then hit rates of several settings over memory.
'use strict';

const replay = (() => {
  const madeUp = 3000;  // requests of a made-up trace: enough for the shape of a curve
  // What takes longer than the replay itself, and is asked for once that is shown.
  const everything = { 'simulate.upper_bounds': 'true', 'simulate.losses': 'true' };
  let trace = null, asked = 0;

  function asking() {
    const values = question.values();
    if (trace.path) values['simulate.trace.file'] = trace.path;
    else values['simulate.trace.max_requests'] = String(madeUp);
    return values;
  }

  const cell = (name, value) => make('td', { 'data-name': name, 'data-value': JSON.stringify(value) }, digits(value));

  function counts(cache) {
    const names = ['requests', 'taken_prompt_tokens', 'hit_tokens', 'token_exact_hit_tokens', 'feasible_tokens',
      'upper_tokens', 'too_long', 'refused'];
    // All shares have one whole: the prompts that the engine takes, also those that do not fit the memory.
    const whole = cache.taken_prompt_tokens;
    const share = (name) => (/_tokens$/.test(name) && whole ? percent(cache[name] / whole) : '');
    return make('table', { class: 'figures' }, make('caption', {}, `What ${cache.name} finds, and what could be found`),
      make('tbody', {}, ...names.filter((name) => cache[name] !== null && cache[name] !== undefined).map((name) =>
        make('tr', {}, make('th', { scope: 'row' }, name.replaceAll('_', ' ')), cell(name, cache[name]),
          make('td', {}, share(name))))));
  }

  function fall(losses, titles) {
    const total = losses.token_exact_tokens;
    if (!total) return make('p', { class: 'note' }, 'No prompt begins as an earlier one did.');
    const text = (tokens) => `${digits(tokens)} (${percent(tokens / total)})`;
    const parts = [{ title: 'token by token, endless memory', from: 0, to: total, kind: 'whole', text: text(total) }];
    let rest = total;
    for (const [cause, tokens] of Object.entries(losses.lost)) {
      if (tokens === 0) continue;
      parts.push({ title: titles[cause], from: rest - tokens, to: rest, kind: 'lost', text: text(tokens) });
      rest -= tokens;
    }
    parts.push({ title: 'found', from: 0, to: losses.found_tokens, kind: 'found', text: text(losses.found_tokens) });
    return charts.waterfall(total, parts);
  }

  // Lines over memory: [{name, values, css}], and perhaps gaps: what stands where there is no value.
  function tableOverMemory(memoryText, lines, text, caption) {
    const head = memoryText.map((bytes) => make('th', { scope: 'col' }, bytes));
    const line = ({ name, values, css, gaps }) => make('tr', {}, make('th', { scope: 'row' },
      make('span', { class: `swatch ${css}` }), name),
    ...values.map((value, i) => make('td', {}, value === null ? gaps?.[i] ?? '–' : text(value))));
    return make('div', { class: 'wide' }, make('table', { class: 'compare' }, make('caption', {}, caption),
      make('thead', {}, make('tr', {}, make('td'), ...head)), make('tbody', {}, ...lines.map(line))));
  }

  const settingLines = (settings, values) => settings.map((setting, i) =>
    ({ name: setting.name, values: setting[values], css: `curve${i}` }));

  function ratesTable(rates) {
    return tableOverMemory(rates.memory_text, [...settingLines(rates.settings, 'found'),
      { name: 'no policy finds more', values: rates.upper, css: 'upper' },
      { name: 'token by token, endless memory', values: rates.memory_bytes.map(() => rates.token_exact), css: 'exact' }],
    percent, 'Share of the prompt tokens that is found again');
  }

  // Where a GPU gives the memory its clock says how long a first token takes, the requests coming as the trace says.
  async function timesOn(gpuName, values, number) {
    const times = await engine.ask({ ask: 'first-tokens', values: { ...values, 'simulate.clock.gpu': gpuName },
      vary: question.vary() }, 'replayer');
    if (number !== asked) return;
    if (times.error) show('times', errorText(times));
    else if (!times.clocks.length) show('times', make('p', { class: 'note' }, `Nobody measured these engines on ${gpuName}.`));
    else show('times', make('h3', {}, 'How long a first token takes'), charts.firstTokens(times),
      tableOverMemory(times.memory_text, settingLines(times.settings, 'seconds').map((line, i) => ({ ...line,
        gaps: times.settings[i].overloaded.map((grows) => (grows ? 'queue grows' : null)) })), charts.secondsText,
      `Mean, on ${gpuName}`), ...times.clocks.map((clock) => make('p', { class: 'note' }, `${clock}.`)));
  }

  function single(cache) {
    show('counts', counts(cache));
    if (cache.losses) show('losses', make('h3', {}, 'Where the tokens went'), fall(cache.losses, controls.causes()));
  }

  function clear() {
    show('replay');
    show('rates');
  }

  // What was asked before is no longer shown when its answer comes. The number tells tests whose rates they see.
  const next = () => (document.body.dataset.replay = ++asked);

  async function update() {
    if (!trace || modelFile.problem()) return;
    const number = next(), begin = performance.now();
    const values = asking();
    show('replay-state', `Replaying ${trace.name} …`);
    const answer = await engine.ask({ ask: 'simulate', values }, 'replayer');
    if (number !== asked) return;
    const seconds = ((performance.now() - begin) / 1000).toFixed(2);
    if (answer.error) {
      show('replay-state', errorText(answer));
      clear();
      return;
    }
    show('replay-state', `${trace.name}: ${digits(answer.requests)} requests replayed in ${seconds} s`);
    document.body.dataset.replaySeconds = seconds;
    const waiting = () => make('p', { class: 'note' }, 'Replaying on …');
    show('replay', make('div', { id: 'counts' }), make('div', { id: 'losses' }, waiting()));
    show('rates', waiting());
    single(answer.caches[0]);
    const full = await engine.ask({ ask: 'simulate', values: { ...values, ...everything } }, 'replayer');
    if (number !== asked) return;
    if (full.error) show('losses', errorText(full));
    else single(full.caches[0]);
    const rates = await engine.ask({ ask: 'rates', values, vary: question.vary() }, 'replayer');
    if (number !== asked) return;
    if (rates.error) show('rates', errorText(rates));
    else show('rates', charts.curves(rates), ratesTable(rates), make('div', { id: 'times' }));
    const { name } = question.gpu();
    if (name && !rates.error) await timesOn(name, values, number);
    if (number === asked) document.body.dataset.rates = number;
  }

  async function dropTrace(file) {
    next();
    show('replay-state', `Reading ${file.name} …`);
    take({ name: file.name, path: await engine.keep(file.name, new Uint8Array(await file.arrayBuffer())) });
  }

  const madeUpTrace = () => ({ name: `a made-up trace of ${digits(madeUp)} requests`, path: '' });

  function take(next) {
    trace = next;
    question.setMadeUp(!trace.path);
    copies.update();
    update();
  }

  // A trace that was dropped stays whatever the address says, which cannot hold it.
  function restore() {
    if (question.madeUp()) trace = madeUpTrace();
    else if (trace && !trace.path) {
      trace = null;
      next();
      show('replay-state');
      clear();
    }
  }

  function start() {
    at('trace').addEventListener('change', (event) => event.target.files[0] && dropTrace(event.target.files[0]));
    at('made-up').addEventListener('click', () => take(madeUpTrace()));
    controls.accept(at('drop'), dropTrace);
  }

  function notInAddress() {
    return trace?.path ? `The address holds all but the trace: whoever opens it drops ${trace.name} again.` : '';
  }

  return { start, restore, update, notInAddress,
    traceValues: () => (trace ? { ...asking(), ...everything } : null) };
})();
