// What is asked, as the controls, the address and the engine have it: values by keys of a scenario.
'use strict';

const question = (() => {
  // The controls, in the order of the page. A slider stands for one of its `steps`;
  // what lies between them is typed beside it.
  const controls = [
    { key: 'model', title: 'Model', kind: 'model' },
    { key: 'engine.release', title: 'Release', kind: 'choice' },
    { key: 'engine.strategy', title: 'Strategy', kind: 'choice' },
    { key: 'engine.cache_mode', title: 'Mode', kind: 'choice' },
    { key: 'engine.backend_profile', title: 'Backend profile', kind: 'choice' },
    { key: 'engine.kv_dtype', title: 'K and V as', kind: 'choice' },
    { key: 'engine.ssm_dtype', title: 'States as', kind: 'choice' },
    { key: 'engine.memory', title: 'Memory for the cache, a rank', kind: 'slider',
      steps: [4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 72, 80, 96, 112, 128, 160]
        .map((size) => `${size}GiB`) },
    { key: 'limits.max_model_len', title: 'Longest length, tokens', kind: 'slider',
      steps: ['1k', '2k', '4k', '8k', '16k', '32k', '64k', '128k', '256k', '512k', '1M'] },
    { key: 'engine.tensor_parallel', title: 'Ranks', kind: 'slider', steps: ['1', '2', '4', '8', '16'] },
    { key: 'engine.attention_pack_size', title: 'Pack: attention layers a page', kind: 'slider',
      steps: Array.from({ length: 16 }, (_, i) => String(i + 1)) },
  ];

  const first = {
    'model': 'Qwen3.5-397B-A17B', 'engine.tensor_parallel': '2', 'engine.memory': '40GiB',
    'limits.max_model_len': '32k', 'engine.attention_pack_size': '1', 'engine.cache_mode': 'align',
  };

  // Nothing but what somebody chose; '' and a key that is not there are the default.
  let values = { ...first };
  let vary = {};
  let asksNothing = true;  // does the address hold no question?
  let gpu = {};  // fields of "Memory from a GPU" that somebody filled in: name, weights, share
  let madeUp = false;  // is a made-up trace replayed?
  const packedModels = new Map();  // path: a dropped model as the address has it; '' where it is too long for one
  const listeners = [];

  let last = { change: '', time: 0 };

  // What is read first comes first, a packed model last. Each question is a step of the browser's history, so that Back
  // asks the one before. What goes on with a change is one step with it: a slider that is dragged, and, as a change
  // without a name, memory that follows from a GPU.
  function write(change = '') {
    const parts = new URLSearchParams(values);
    for (const [key, text] of Object.entries(vary)) parts.set(`vary:${key}`, text);
    for (const [field, text] of Object.entries(gpu)) parts.set(`gpu:${field}`, text);
    if (madeUp) parts.set('trace', 'made-up');
    if (packedModels.get(values.model)) parts.set('model:packed', packedModels.get(values.model));
    const address = `#${parts}`;
    if (address === location.hash) return;
    const goesOn = change === '' || (change === last.change && performance.now() - last.time < 1000);
    history[goesOn ? 'replaceState' : 'pushState'](null, '', address);
    if (change) last = { change, time: performance.now() };
  }

  function changed(change) {
    write(change);
    for (const listener of listeners) listener();
  }

  function read() {
    const parts = new URLSearchParams(location.hash.slice(1));
    if (![...parts.keys()].length) return;
    asksNothing = false;
    const packed = parts.get('model:packed');
    madeUp = parts.get('trace') === 'made-up';
    parts.delete('model:packed');
    parts.delete('trace');
    values = {};
    vary = {};
    gpu = {};
    for (const [name, text] of parts)
      if (name.startsWith('vary:')) vary[name.slice(5)] = text;
      else if (name.startsWith('gpu:')) gpu[name.slice(4)] = text;
      else values[name] = text;
    if (packed) packedModels.set(values.model, packed);
    else if (packedModels.get(values.model)) packedModels.delete(values.model);
  }

  read();
  write();
  return {
    controls,
    value: (key) => values[key] ?? '',
    values: () => ({ ...values }),
    vary: () => ({ ...vary }),
    gpu: () => ({ ...gpu }),
    madeUp: () => madeUp,
    packedModel: () => packedModels.get(values.model),
    set(key, text) {
      if (text) values[key] = text;
      else delete values[key];
      if (key === 'engine.memory') delete gpu.name;
      changed(key);
    },
    setModel(path, packed) {
      packedModels.set(path, packed);
      values.model = path;
      changed('model');
    },
    setGpu(fields) {
      gpu = fields;
      changed('gpu');
    },
    // The memory is another one than the GPU's.
    dropGpu() {
      delete gpu.name;
      changed();
    },
    // The memory that the GPU leaves.
    setBudget(bytes) {
      values['engine.memory'] = bytes;
      changed();
    },
    // Where nothing is asked yet the first three releases stand beside each other.
    start(releases) {
      if (!asksNothing) return;
      vary = { 'engine.release': releases.slice(0, 3).join(',') };
      write();
    },
    setMadeUp(is) {
      madeUp = is;
      write('trace');
    },
    // Keys without a control of their own, as lines KEY=VALUE.
    others() {
      const own = new Set(controls.map((control) => control.key));
      return Object.entries(values).filter(([key]) => !own.has(key) && !key.startsWith('simulate.trace.'))
        .map(([key, text]) => `${key}=${text}`).join('\n');
    },
    setOthers(lines) {
      const own = new Set(controls.map((control) => control.key));
      for (const key of Object.keys(values))
        if (!own.has(key) && !key.startsWith('simulate.trace.')) delete values[key];
      for (const line of lines.split('\n')) {
        const equals = line.indexOf('=');
        if (equals > 0) values[line.slice(0, equals).trim()] = line.slice(equals + 1).trim();
      }
      changed('others');
    },
    setVary(next) {
      vary = next;
      changed('vary');
    },
    onChange: (listener) => listeners.push(listener),
    // Of several new addresses each is restored after the one before, so that what is shown is of the last.
    onAddress(restore) {
      let before = Promise.resolve();
      window.addEventListener('hashchange', () => {
        read();
        last.change = '';
        before = before.then(restore).then(() => listeners.forEach((each) => each()));
      });
    },
    // Without what replays need, for the planner.
    layout() {
      const kept = Object.entries(values).filter(([key]) => !key.startsWith('simulate.'));
      return { values: Object.fromEntries(kept) };
    },
  };
})();
