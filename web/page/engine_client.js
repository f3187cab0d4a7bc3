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

  const [scriptSize, wasmSize] = engineSizes;
  const parts = unpack(enginePacked, scriptSize + wasmSize);
  const compiled = WebAssembly.compile(parts.subarray(scriptSize));
  const started = async () => {
    const worker = new EngineWorker(parts.subarray(0, scriptSize));
    await worker.send({ module: await compiled });
    return worker;
  };
  // The first numbers wait for the planner alone.
  const planner = started(), workers = { planner, replayer: planner.then(started) };

  return {
    // The answer to a question (web/answers.h); an error is an answer too, with the field `error`.
    async ask(question, worker = 'planner') {
      return (await workers[worker]).send({ question });
    },
    // Gives both workers a file under the path /dropped/NAME.
    async keep(name, bytes) {
      for (const worker of Object.values(workers)) await (await worker).send({ file: { name, bytes } });
      return `/dropped/${name}`;
    },
  };
})();
