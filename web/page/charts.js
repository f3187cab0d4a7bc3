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

  // Lines over memory, which is evenly spaced in its logarithm: {memory_bytes, memory_text} and [{values, css, dot}].
  // `text` writes a value, up to `least` or more; `name` says what the values are.
  function overMemory({ memory_bytes, memory_text }, lines, text, least, name) {
    const logs = memory_bytes.map(Math.log);
    const x = (i) => left + ((logs[i] - logs[0]) / (logs.at(-1) - logs[0])) * (width - left - right);
    const most = Math.max(least, ...lines.flatMap(({ values }) => values).filter((value) => value !== null));
    const y = (value) => height - bottom - (value / most) * (height - top - bottom);
    const image = draw('svg', { viewBox: `0 0 ${width} ${height}`, class: 'chart', role: 'img',
      'aria-label': `${name} over memory; the table below has the numbers` });
    for (let i = 0; i <= 4; ++i)
      image.append(draw('line', { x1: left, x2: width - right, y1: y((most * i) / 4), y2: y((most * i) / 4),
        class: 'grid' }), axisText(left - 6, y((most * i) / 4) + 4, text((most * i) / 4), 'end'));
    memory_text.forEach((bytes, i) => image.append(axisText(x(i), height - bottom + 18, bytes,
      i === 0 ? 'start' : i === logs.length - 1 ? 'end' : 'middle')));
    image.append(axisText((left + width) / 2, height - 6, 'memory for the cache of a rank', 'middle'));
    for (const { values, css, dot } of lines) {
      const points = values.map((value, i) => (value === null ? null : [x(i), y(value)]));
      image.append(draw('path', { d: path(points), class: css }));
      for (const point of dot ? points.filter(Boolean) : [])
        image.append(draw('circle', { cx: point[0], cy: point[1], r: 3.5, class: dot }));
    }
    return make('div', { class: 'wide' }, image);
  }

  const settingLine = (values, i) => ({ values, css: `curve curve${i}`, dot: `dot curve${i}` });

  // Hit rates over memory: {memory_bytes, memory_text, settings, upper, token_exact}.
  function curves(rates) {
    const lines = [{ values: rates.memory_bytes.map(() => rates.token_exact), css: 'exact' },
      { values: rates.upper, css: 'upper' },
      ...rates.settings.map((setting, i) => settingLine(setting.found, i))];
    return overMemory(rates, lines, (share) => `${(100 * share).toFixed(1)} %`, 0.05,
      `Hit rate of ${rates.settings.length} settings`);
  }

  // How long a first token takes over memory: {memory_bytes, memory_text, settings}.
  function firstTokens(times) {
    return overMemory(times, times.settings.map((setting, i) => settingLine(setting.seconds, i)), secondsText, 1e-3,
      'Time to the first token');
  }

  const secondsText = (value) => (value < 1 ? `${(1000 * value).toFixed(0)} ms` : `${value.toFixed(2)} s`);

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

  return { curves, firstTokens, secondsText, waterfall };
})();
