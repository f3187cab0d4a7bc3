// A model that somebody dropped: given to the engine, and packed into the address for whoever opens that.
'use strict';

const modelFile = (() => {
  const folder = '/dropped/';
  const tooLong = new Map();  // path: characters that it would take in an address
  const broken = new Map();  // path: what is wrong with what an address said of it
  let saved = '';  // address of the file that can be saved

  // Without the folder that a config.json gets, which models are called by.
  const title = (path) => path.replace(folder, '').replace(/^imported\//, '');

  // What a config says of itself, in words; of a model in YAML nothing. An error is an answer with the field `error`.
  async function described(path) {
    if (!path.endsWith('.json')) return { text: title(path) };
    const answer = await engine.ask({ ask: 'import', path });
    if (answer.error) return answer;
    return { text: [`${answer.model}: ${answer.layers} layers`, ...answer.notes].join(' · ') };
  }

  function notInAddress() {
    const path = question.value('model');
    if (!tooLong.has(path)) return '';
    return `${title(path)} is not in the address: packed it takes ${digits(tooLong.get(path))} characters, and an ` +
      `address holds at most ${digits(packing.longest)}. Whoever opens the address is asked to drop the file.`;
  }

  function say(text, ...more) {
    show('config-state', [text, notInAddress()].filter(Boolean).join(' · '), ...more);
  }

  // The file for whoever has it from an address only: commands take it by its name.
  function link(path, bytes) {
    URL.revokeObjectURL(saved);
    saved = URL.createObjectURL(new Blob([bytes]));
    return make('a', { id: 'save-model', href: saved, download: title(path) }, `Save ${title(path)}`);
  }

  // A config is imported first, beside the model that is planned, and planned once nothing is wrong with it.
  async function drop(file) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const name = /^config\.json$/.test(file.name) ? 'imported/config.json' : file.name;
    const answer = await described(await engine.keep(`tried/${name}`, bytes));
    if (answer.error) {
      show('config-state', errorText(answer));
      return;
    }
    const path = await engine.keep(name, bytes), packed = await packing.pack(bytes);
    broken.delete(path);
    if (packed.text) tooLong.delete(path);
    else tooLong.set(path, packed.length);
    question.setModel(path, packed.text);
    say(answer.text);
  }

  const refusal = (error, remedy) => ({ field: 'model', error, remedy });

  async function unpacked(path, packed) {
    if (packed === undefined)
      return refusal(`${title(path)} was dropped on another page and is not in this address`, 'drop the file here');
    let bytes = null;
    try {
      bytes = await packing.unpack(packed);
    } catch {
      return refusal(`${title(path)} cannot be read: what this address says of it is damaged or cut off`,
        'copy the whole address once more, or drop the file here');
    }
    await engine.keep(path.replace(folder, ''), bytes);
    return { ...await described(path), bytes };
  }

  // Gives the engine the file that the address holds; called before anything is asked about it.
  async function restore() {
    const path = question.value('model'), packed = question.packedModel();
    show('config-state');
    if (!path.startsWith(folder)) return;
    const answer = packed === '' ? { text: title(path) } : await unpacked(path, packed);
    if (answer.error) {
      broken.set(path, answer);
      return;
    }
    broken.delete(path);
    say(answer.text, ...(answer.bytes ? [' · ', link(path, answer.bytes)] : []));
  }

  return { title, drop, restore, notInAddress, problem: () => broken.get(question.value('model')) ?? null };
})();
