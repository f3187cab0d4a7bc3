// Two workers with the engine in them: one plans while somebody moves a slider, the other replays traces.
'use strict';

const engine = (() => {
  class EngineWorker {
    constructor(script) {
      this.worker = new Worker(URL.createObjectURL(new Blob([script], { type: 'text/javascript' })));
      this.waiting = new Map();
      this.number = 0;
      this.worker.onmessage = ({ data }) => {
        const resolve = this.waiting.get(data.number);
        this.waiting.delete(data.number);
        resolve(JSON.parse(data.reply));
      };
    }

    send(message) {
      const number = ++this.number;
      this.worker.postMessage({ ...message, number });
      return new Promise((resolve) => this.waiting.set(number, resolve));
    }
  }

  const workers = {};
  const ready = (async () => {
    const [scriptSize, wasmSize] = engineSizes;
    const parts = unpack(enginePacked, scriptSize + wasmSize);
    const module = await WebAssembly.compile(parts.subarray(scriptSize));
    for (const name of ['planner', 'replayer']) workers[name] = new EngineWorker(parts.subarray(0, scriptSize));
    await Promise.all(Object.values(workers).map((worker) => worker.send({ module })));
  })();

  return {
    ready,
    // The answer to a question (web/answers.h); an error is an answer too, with the field `error`.
    async ask(question, worker = 'planner') {
      await ready;
      return workers[worker].send({ question });
    },
    // Gives both workers a file under the path /dropped/NAME.
    async keep(name, bytes) {
      await ready;
      await Promise.all(Object.values(workers).map((worker) => worker.send({ file: { name, bytes } })));
      return `/dropped/${name}`;
    },
  };
})();
