// Making elements, without a line of HTML in a text.
'use strict';

const svgNamespace = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(svgNamespace, tag), attributes, children);
const at = (id) => document.getElementById(id);

function show(id, ...children) {
  at(id).replaceChildren(...children);
}

// What is wrong, about which key, and what to do.
function errorText(error) {
  return make('p', { class: 'error' }, error.field ? make('code', {}, error.field) : '', error.field ? ': ' : '',
    error.error, error.remedy ? `; ${error.remedy}` : '');
}

// Digits with thousands separators; what has a fraction to four digits. For numbers that come without a text.
function digits(value) {
  return typeof value === 'number' ? value.toLocaleString('en', { maximumFractionDigits: 4 }) : String(value);
}

const percent = (share) => `${(100 * share).toFixed(2)} %`;
