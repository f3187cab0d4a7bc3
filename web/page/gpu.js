// Memory from a GPU: what it leaves to the cache beside the weights.
'use strict';

const gpu = (() => {
  const inputs = ['weights', 'share'];
  let asked = '';  // the question whose budget was asked last

  // All that a budget follows from: without weights they are counted for the model and its split.
  function budgetQuestion(fields) {
    const { values } = question.layout();
    delete values['engine.memory'];
    return { ask: 'budget', values, gpu: fields.name, utilization: at('share').value.trim(),
      weights: at('weights').value.trim() };
  }

  // The bytes that are left, shown with what they are made of; null where there are none.
  async function budget(fields) {
    if (!fields.name) {
      asked = '';
      show('budget');
      return null;
    }
    const what = budgetQuestion(fields);
    asked = JSON.stringify(what);
    const answer = await engine.ask(what);
    show('budget', answer.error ? errorText(answer) : answer.text);
    return answer.error ? null : String(answer.memory_bytes);
  }

  async function changed() {
    const fields = { name: at('gpu').value, weights: at('weights').value.trim(), share: at('share').value.trim() };
    question.setGpu(fields);
    const bytes = await budget(fields);
    if (bytes) question.setBudget(bytes);
  }

  // The fields as the address has them. Where it gives another memory than theirs, that holds, and no GPU is shown.
  async function restore() {
    const fields = question.gpu();
    for (const id of inputs) at(id).value = fields[id] ?? at(id).defaultValue;
    const bytes = await budget(fields), memory = question.value('engine.memory');
    update();
    if (bytes && !memory) question.setBudget(bytes);
    else if (bytes && bytes !== memory) question.dropGpu();
  }

  // Memory that is given by hand is no GPU's; that of a GPU follows the model and its ranks.
  async function update() {
    const fields = question.gpu(), { name = '' } = fields;
    const known = [...at('gpu').options].some((option) => option.value === name);
    at('gpu').value = known ? name : '';
    if (!name) show('budget');
    if (!name || asked === '' || asked === JSON.stringify(budgetQuestion(fields))) return;
    const bytes = await budget(fields);
    if (bytes && bytes !== question.value('engine.memory')) question.setBudget(bytes);
  }

  function start(gpus) {
    for (const one of gpus) at('gpu').append(make('option', { value: one.name }, one.name));
    for (const id of ['gpu', ...inputs]) at(id).addEventListener('change', changed);
  }

  return { start, restore, update };
})();
