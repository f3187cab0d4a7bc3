// Starts the page: the question from the address, then every answer to it, and again whenever it changes.
'use strict';

const themes = (() => {
  const dark = () => document.documentElement.dataset.theme === 'dark';
  const say = () => {
    at('theme').setAttribute('aria-pressed', String(dark()));
    at('theme').textContent = dark() ? 'Light' : 'Dark';
  };
  return {
    start() {
      const wanted = matchMedia('(prefers-color-scheme: dark)');
      document.documentElement.dataset.theme = wanted.matches ? 'dark' : 'light';
      say();
      at('theme').addEventListener('click', () => {
        document.documentElement.dataset.theme = dark() ? 'light' : 'dark';
        say();
      });
      wanted.addEventListener('change', () => {
        document.documentElement.dataset.theme = wanted.matches ? 'dark' : 'light';
        say();
      });
    },
  };
})();

(async () => {
  themes.start();
  // What is shown at once follows every change; what takes longer waits until nothing has changed for a moment.
  let later = 0;
  const slower = async () => {
    replay.update();
    await compare.update();
    await copies.update();
  };
  const update = () => {
    controls.update();
    figures.update();
    bars.update();
    clearTimeout(later);
    if (!modelFile.problem()) later = setTimeout(slower, 200);
  };
  const restore = async () => {
    await modelFile.restore();
    await gpu.restore();
    replay.restore();
    compare.start();
  };
  await controls.start();
  question.start(controls.releases());
  derivation.start();
  replay.start();
  kernels.start();
  await restore();
  question.onChange(update);
  question.onAddress(restore);
  controls.update();
  await figures.update();
  await bars.update();
  if (!modelFile.problem()) await slower();
  document.body.dataset.ready = performance.now().toFixed(0);
})();
