// Runs beside the page with the engine (the C++ code as WebAssembly) in it: files in, questions in, answers out.
'use strict';

const dropped = '/dropped/';
let engine = null;

// The text of a question goes in as UTF-8 with a zero, that of the answer comes back the same way.
function answer(question) {
  const text = JSON.stringify(question);
  const size = engine.lengthBytesUTF8(text) + 1;
  const place = engine._malloc(size);
  engine.stringToUTF8(text, place, size);
  const reply = engine.UTF8ToString(engine._hybridkv_answer(place));
  engine._free(place);
  return reply;
}

async function start(module) {
  engine = await makeEngine({
    instantiateWasm(imports, done) {
      WebAssembly.instantiate(module, imports).then((instance) => done(instance, module));
      return {};
    },
  });
  engine.FS.mkdir(dropped);
}

// A file may come as 'folder/config.json': a model is called by its folder.
function keep(name, bytes) {
  const path = dropped + name;
  engine.FS.mkdirTree(path.slice(0, path.lastIndexOf('/')));
  engine.FS.writeFile(path, bytes);
}

self.onmessage = async ({ data }) => {
  try {
    if (data.module) await start(data.module);
    if (data.file) keep(data.file.name, data.file.bytes);
    const reply = data.question ? answer(data.question) : '{}';
    self.postMessage({ number: data.number, reply });
  } catch (error) {
    const text = `the engine stopped: ${error.message || error}`;
    self.postMessage({ number: data.number, reply: JSON.stringify({ error: text, field: '', place: '', remedy: '' }) });
  }
};
