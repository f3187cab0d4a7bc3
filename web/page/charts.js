// Charts in the page's own colours: curves over memory, and a waterfall.
'use strict';

const charts = (() => {
  const width = 720, height = 320, left = 56, right = 16, top = 14, bottom = 44;

  function axisText(x, y, text, anchor) {
    return draw('text', { x, y, 'text-anchor': anchor, class: 'axis' }, text);
  }

  // Gaps where nothing is known.
  function path(points) {
    let line = '', pen = 'M';
    for (const point of points) {
      if (point === null) {
        pen = 'M';
        continue;
      }
      line += `${pen}${point[0].toFixed(1)},${point[1].toFixed(1)}`;
      pen = 'L';
    }
    return line;
  }

  // Hit rates over memory, which is evenly spaced in its logarithm: {memory_bytes, memory_text, settings, upper}.
  function curves(rates) {
    const logs = rates.memory_bytes.map(Math.log);
    const x = (i) => left + ((logs[i] - logs[0]) / (logs.at(-1) - logs[0])) * (width - left - right);
    const all = [...rates.settings.flatMap((setting) => setting.found), ...rates.upper, rates.token_exact];
    const most = Math.max(0.05, ...all.filter((value) => value !== null));
    const y = (share) => height - bottom - (share / most) * (height - top - bottom);
    const image = draw('svg', { viewBox: `0 0 ${width} ${height}`, class: 'chart', role: 'img',
      'aria-label': `Hit rate over memory, ${rates.settings.length} settings; the table below has the numbers` });
    for (let i = 0; i <= 4; ++i)
      image.append(draw('line', { x1: left, x2: width - right, y1: y((most * i) / 4), y2: y((most * i) / 4),
        class: 'grid' }), axisText(left - 6, y((most * i) / 4) + 4, `${((100 * most * i) / 4).toFixed(1)} %`, 'end'));
    rates.memory_text.forEach((text, i) => image.append(axisText(x(i), height - bottom + 18, text,
      i === 0 ? 'start' : i === logs.length - 1 ? 'end' : 'middle')));
    image.append(axisText((left + width) / 2, height - 6, 'memory for the cache of a rank', 'middle'));
    const points = (values) => values.map((value, i) => (value === null ? null : [x(i), y(value)]));
    image.append(draw('path', { d: path(points(rates.memory_bytes.map(() => rates.token_exact))), class: 'exact' }),
      draw('path', { d: path(points(rates.upper)), class: 'upper' }));
    rates.settings.forEach((setting, i) => {
      image.append(draw('path', { d: path(points(setting.found)), class: `curve curve${i}` }));
      for (const point of points(setting.found).filter(Boolean))
        image.append(draw('circle', { cx: point[0], cy: point[1], r: 3.5, class: `dot curve${i}` }));
    });
    return make('div', { class: 'wide' }, image);
  }

  // From token by token down to what is found: [{title, tokens, kind}], each lost part below the one before.
  function waterfall(total, parts) {
    const row = 26, label = 210, room = 170, tall = row * parts.length + 8;
    const x = (tokens) => label + (tokens / total) * (width - label - room);
    const image = draw('svg', { viewBox: `0 0 ${width} ${tall}`, class: 'chart', role: 'img',
      'aria-label': 'Where the tokens went; the table below has the numbers' });
    parts.forEach((part, i) => {
      const y = 4 + i * row;
      image.append(axisText(label - 8, y + 15, part.title, 'end'),
        draw('rect', { x: x(part.from), y, width: Math.max(1, x(part.to) - x(part.from)), height: row - 6,
          class: `fall ${part.kind}` }),
        axisText(x(part.to) + 6, y + 15, part.text, 'start'));
    });
    return make('div', { class: 'wide' }, image);
  }

  return { curves, waterfall };
})();
