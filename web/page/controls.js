// The form: a control for each key that is asked for most, other keys as text.
'use strict';

const controls = (() => {
  const nameOf = (control) => `c-${control.key.replaceAll('.', '-')}`;
  const typing = new Set();  // fields whose text nobody has asked yet
  let choices = null;

  function select(control, values) {
    const options = values.map(([value, text]) => make('option', { value }, text));
    return make('select', { id: nameOf(control), 'data-key': control.key,
      onchange: (event) => question.set(control.key, event.target.value) }, ...options);
  }

  function slider(control) {
    const text = make('input', { id: nameOf(control), 'data-key': control.key, autocomplete: 'off',
      spellcheck: 'false', oninput: (event) => typing.add(event.target),
      onchange: (event) => {
        typing.delete(event.target);
        question.set(control.key, event.target.value.trim());
      } });
    const range = make('input', { type: 'range', min: 0, max: control.steps.length - 1, 'data-slider': control.key,
      'aria-label': `${control.title}, slider`,
      oninput: (event) => {
        typing.delete(text);
        text.value = control.steps[event.target.value];
        question.set(control.key, text.value);
      } });
    return make('div', { class: 'slider' }, range, text);
  }

  function model(control) {
    const names = choices.models.map((name) => [name, name]);
    // Emptied before a choice, so that the same file, edited meanwhile, is one too.
    const file = make('input', { type: 'file', id: 'config', accept: '.json,.yaml,.yml',
      onclick: (event) => { event.target.value = ''; },
      onchange: (event) => event.target.files[0] && modelFile.drop(event.target.files[0]) });
    return make('div', { class: 'model', id: 'model-drop' }, select(control, names),
      make('label', { for: 'config' }, 'or a config.json, dropped here'), file,
      make('p', { id: 'config-state', class: 'note', 'aria-live': 'polite' }));
  }

  function controlOf(control) {
    if (control.kind === 'model') return model(control);
    if (control.kind === 'slider') return slider(control);
    const values = choices.keys[control.key].values.map((value) => [value, value]);
    return select(control, [['', 'default'], ...values]);
  }

  // `take` gets the first file that is dropped, and all of them.
  function accept(zone, take) {
    zone.addEventListener('dragover', (event) => {
      event.preventDefault();
      zone.classList.add('over');
    });
    zone.addEventListener('dragleave', () => zone.classList.remove('over'));
    zone.addEventListener('drop', (event) => {
      event.preventDefault();
      zone.classList.remove('over');
      if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0], [...event.dataTransfer.files]);
    });
  }

  const amountsOf = (key, texts) => engine.ask({ ask: 'amounts', key, texts });

  // A slider goes to the step next to the value, as the engine reads both; of no value it stays where it is.
  async function place(control, range) {
    const value = question.value(control.key);
    control.amounts ??= amountsOf(control.key, control.steps);
    const [steps, [amount]] = await Promise.all([control.amounts, amountsOf(control.key, [value])]);
    if (amount === null || value !== question.value(control.key)) return;
    const distance = (step) => Math.abs(step - amount);
    range.value = steps.indexOf(steps.reduce((best, step) => (distance(step) < distance(best) ? step : best)));
  }

  // What is asked, shown in the controls.
  function update() {
    for (const control of question.controls) {
      const element = at(nameOf(control)), value = question.value(control.key);
      if (control.kind === 'model' && value && ![...element.options].some((option) => option.value === value))
        element.append(make('option', { value }, modelFile.title(value)));
      if (!typing.has(element)) element.value = value;
      if (control.kind !== 'slider') continue;
      const range = document.querySelector(`[data-slider="${control.key}"]`);
      range.setAttribute('aria-valuetext', value || 'default');
      place(control, range);
    }
    gpu.update();
    if (document.activeElement !== at('others')) at('others').value = question.others();
    at('others-box').open = at('others-box').open || at('others').value !== '';
  }

  async function start() {
    const keys = question.controls.filter((control) => control.kind === 'choice').map((control) => control.key);
    choices = await engine.ask({ ask: 'choices', keys });
    for (const control of question.controls) {
      const doc = choices.keys[control.key]?.doc;
      at('controls').append(make('div', { class: 'control', title: doc },
        make('label', { for: nameOf(control) }, control.title), controlOf(control)));
    }
    gpu.start(choices.gpus);
    at('others').addEventListener('change', (event) => question.setOthers(event.target.value));
    at('question').addEventListener('submit', (event) => event.preventDefault());
    accept(at('model-drop'), modelFile.drop);
    update();
  }

  return { start, update, accept, releases: () => choices.keys['engine.release'].values,
    causes: () => choices.causes };
})();
