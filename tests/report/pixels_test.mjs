// SPDX-License-Identifier: MIT
//
// Compares the timeline's canvas pixel by pixel with a slow drawing of the same events, which looks at
// every event and skips nothing: in windows of 900, 1,400 and 2,600 pixels, light and dark, for the
// whole trace and for parts of it. The events are made here, so nothing that the page computes is
// taken for true but the colours of names.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import {go, open, reportOf, shoot, withBrowser, work} from './browser.mjs';

const WIDTHS = [900, 1400, 2600];
const BASE = 1_700_000_000_000_000_000n;

// A small generator of random numbers that gives the same ones every time.
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

// Events of one row: they do not overlap, and their lengths and gaps are of all sizes.
function makeRow(label, count, random) {
  const events = [];
  const size = (most) => Math.floor(10 ** (random() * most));
  let now = size(5);
  for (let i = 0; i < count; ++i) {
    const long = random() < 0.01;
    const length = long ? size(8.3) : random() < 0.05 ? 0 : size(4.5);
    events.push({name: `${label}_${Math.floor(random() * 12)}`, start: now, end: now + length});
    now += length + (random() < 0.4 ? 1 : size(random() < 0.02 ? 7.5 : 4));
  }
  return events;
}

function makeRows() {
  const random = randomFrom(4);
  const rows = new Map();
  for (const label of ['gpuA', 'gpuB', 'hostA', 'hostB']) rows.set(label, makeRow(label, 6000, random));
  // A call of 416 ms that begins 3 us after one of 1 us, and its like at all distances.
  const planted = [];
  let now = 7_000_000;
  for (const [gap, length] of [[3_000, 416_000_000], [1, 90_000_000], [400_000, 30_000_000], [0, 5_000_000]]) {
    planted.push({name: 'hostC_short', start: now, end: now + 1000});
    now += 1000 + gap;
    planted.push({name: 'hostC_long', start: now, end: now + length});
    now += length + 2_000_000;
  }
  rows.set('hostC', planted);
  return rows;
}

// In the words of PyTorch's profiler; times keep their nanoseconds.
function writeTrace(rows) {
  const us = (ns) => {
    const time = BigInt(ns);
    return `${time / 1000n}.${String(time % 1000n).padStart(3, '0')}`;
  };
  const lines = [];
  [...rows].forEach(([label, events], track) => {
    for (const {name, start, end} of events) {
      const times = `"ts":${us(BASE + BigInt(start))},"dur":${us(end - start)}`;
      lines.push(label.startsWith('gpu')
        ? `{"ph":"X","cat":"kernel","name":"${name}","pid":0,"tid":${track},${times},"args":{"device":0,"stream":${track}}}`
        : `{"ph":"X","cat":"hip_runtime","name":"${name}","pid":77,"tid":${77 + track},${times},"args":{}}`);
    }
  });
  const trace = path.join(work, 'pixels.json');
  fs.writeFileSync(trace, `{"traceEvents":[${lines.join(',\n')}]}`);
  return trace;
}

// What the canvas has: of each row a line of pixels, a line of its background, and where the view is.
const readRows = (page) => page.evaluate(() => {
  const lanes = window.rochoundMarks.lanes();
  lanes.draw();
  const {events, canvas, colors} = lanes;
  const context = canvas.getContext('2d');
  const line = (y) => [...context.getImageData(0, y, lanes.width, 1).data];
  const rows = [];
  for (const lane of lanes.lanes) {
    for (const row of lane.rows) {
      rows.push({
        label: events.nameOf(row.from).split('_')[0], background: line(lane.top + 2), pixels: line(lane.top + 6 + 20 * row.depth + 1),
        inSight: lane.top + lane.height < canvas.height,
      });
    }
  }
  return {rows, begin: lanes.begin, perPixel: lanes.perPixel, width: lanes.width, ratio: devicePixelRatio,
          colors: Object.fromEntries(events.header.names.map((name, i) => [name, colors[i]]))};
});

// The slow drawing: every event of the row, one after the other.
function slowRow(events, view, background, wanted) {
  const {perPixel, width, colors} = view;
  const first = Math.round(view.begin / perPixel);
  const paints = [];  // [from, to, colour, opacity] in the order they are painted
  const pixels = new Map();
  for (const event of events) {
    const {start, end, name} = event;
    if (end <= first * perPixel || start >= (first + width) * perPixel) continue;
    const bright = wanted === undefined || name === wanted;
    if (end - start >= 2 * perPixel) {
      const left = Math.round(start / perPixel) - first;
      const right = Math.min(Math.round(end / perPixel) - first, width + 2);
      const from = Math.max(left, -2);
      paints.push({from, to: right - (right - from > 4 ? 1 : 0), name, opacity: bright ? 1 : 0.16});
      continue;
    }
    for (let pixel = Math.floor(start / perPixel) - 1; pixel <= Math.floor(end / perPixel) + 1; ++pixel) {
      const time = Math.min(end, (pixel + 1) * perPixel) - Math.max(start, pixel * perPixel);
      if (time <= 0 && Math.floor(start / perPixel) !== pixel) continue;
      let paint = pixels.get(pixel);
      if (paint === undefined) {
        paint = {from: pixel - first, to: pixel - first + 1, busy: 0, longest: -1, bright: false};
        pixels.set(pixel, paint);
        paints.push(paint);
      }
      paint.busy += Math.max(time, 0);
      if ((bright && !paint.bright) || (bright === paint.bright && end - start > paint.longest)) {
        Object.assign(paint, {name, bright, longest: end - start});
      }
    }
  }
  const result = [...background];
  for (const paint of paints) {
    const opacity = paint.opacity ??
        (paint.bright ? 1 : 0.16) * (0.45 + 0.55 * Math.ceil(Math.min(1, paint.busy / perPixel) * 16 - 1e-6) / 16);
    for (let x = Math.max(paint.from, 0); x < Math.min(paint.to, width); ++x) {
      for (let channel = 0; channel < 3; ++channel) {
        const ink = parseInt(colors[paint.name].slice(1 + 2 * channel, 3 + 2 * channel), 16);
        result[4 * x + channel] = opacity * ink + (1 - opacity) * result[4 * x + channel];
      }
    }
  }
  return result;
}

async function compare(page, rows, what, wanted) {
  const view = await readRows(page);
  assert.equal(view.ratio, 1);
  const seen = new Set();
  for (const row of view.rows) {
    assert.ok(row.inSight, `${what}: ${row.label} is below the canvas`);
    seen.add(row.label);
    const expected = slowRow(rows.get(row.label), view, row.background, wanted);
    const wrong = [];
    for (let x = 0; x < view.width; ++x) {
      // The canvas rounds opacities, and each time that one thing is painted over another.
      if ([0, 1, 2].some((channel) => Math.abs(expected[4 * x + channel] - row.pixels[4 * x + channel]) > 3)) {
        wrong.push(`${x}: ${row.pixels.slice(4 * x, 4 * x + 3)} instead of ${expected.slice(4 * x, 4 * x + 3).map(Math.round)}`);
      }
    }
    assert.deepEqual(wrong.slice(0, 5), [], `${what}: ${wrong.length} of ${view.width} pixels of ${row.label} differ`);
    compared += view.width;
  }
  assert.deepEqual([...seen].sort(), [...rows.keys()].sort(), 'every track has one row');
}

let compared = 0;
await withBrowser(async (browser) => {
  const rows = makeRows();
  const first = Math.min(...[...rows.values()].map((events) => events[0].start));
  for (const events of rows.values()) {
    for (const event of events) {
      event.start -= first;
      event.end -= first;
    }
  }
  const length = Math.max(...[...rows.values()].map((events) => events.at(-1).end));
  const report = reportOf(writeTrace(rows));
  for (const colorScheme of ['light', 'dark']) {
    for (const width of WIDTHS) {
      const {page, context, mischief} = await open(browser, report, {colorScheme, viewport: {width, height: 1000}});
      await go(page, 'timeline');
      await page.waitForFunction(() => window.rochoundMarks.lanes()?.width > 1);
      const what = `${width} pixels, ${colorScheme}`;
      await compare(page, rows, `${what}, whole trace`);
      await shoot(page, `pixels-${width}-${colorScheme}`);
      const random = randomFrom(width);
      for (let i = 0; i < 6; ++i) {
        const seen = length * 10 ** (-5 * random());
        const begin = random() * (length - seen);
        await page.evaluate(([from, to]) => window.rochoundMarks.lanes().show(from, to), [begin, begin + seen]);
        await compare(page, rows, `${what}, ${Math.round(begin)} to ${Math.round(begin + seen)}`);
      }
      // A name that is searched for stands out wherever it is, however many others share its pixel.
      await page.evaluate(() => window.rochoundMarks.lanes().fit());
      const search = page.getByRole('searchbox', {name: 'Find events by name'});
      for (const wanted of ['gpuA_11', 'hostC_long']) {
        await search.fill(wanted);
        await compare(page, rows, `${what}, ${wanted} searched for`, wanted);
      }
      assert.deepEqual(mischief, []);
      await context.close();
    }
  }
  console.log(`${compared} pixels compared`);
});
