// SPDX-License-Identifier: MIT
//
// A report with what `rochound profile` wrote: the roofline's kernels are where their figures say,
// and tell them; names that are markup are names. Leaves screenshots in the output folder.

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import {go, open, options, reportOf, shoot, withBrowser, work} from './browser.mjs';

const EVIL = '<img src=x onerror="alert(1)">';
const MEMORY = 1e12;
const PEAK = 1e14;

// A kernel with this many operations and bytes on a GPU with these peaks.
function kernel(name, operations, compulsory, uncached) {
  const compute = operations / PEAK;
  const memory = compulsory / MEMORY;
  return {
    kernel: name, name, grid: [256, 1, 1], workgroup: [64, 1, 1], launches: 2, operations: operations > 0 ? {'vector.f32': operations} : {},
    other_integer_operations: 0, bytes: {compulsory, requested: compulsory, uncached},
    operations_per_byte: {most: operations / compulsory, least: operations / uncached},
    compute_seconds_least: compute, memory_seconds_least: memory, memory_seconds_uncached: uncached / MEMORY,
    verdict: compute > memory ? 'compute' : 'memory', reasons: [`because of ${name}`],
  };
}

const kernels = [kernel('large(float*)', 1e9, 1e9, 1e10), kernel(EVIL, 1e8, 1e7, 1e8), kernel('dense', 1e10, 1e7, 1e7), kernel('copies', 0, 1e6, 1e6)];
kernels[0].modelled_bytes = {to_l2: 8e9, beyond_l2: 4e9, memory: 2e9, memory_seconds: 2e-3};
const device = {name: 'a card', target: 'gfx942'};
const roofline = {
  format: 'rochound roofline', version: 1, source: 'the software GPU\'s counters', warnings: [`${EVIL} is doubtful`], device, kernels,
  peaks: {operations: {'vector.f32': {per_second: PEAK, source: 'a document'}}, memory: {bytes_per_second: MEMORY, source: 'a document'},
    caches: {l2: {bytes_per_second: 10 * MEMORY, source: 'a document'}}},
};
const analysis = {
  format: 'rochound analysis', version: 1, source: '', warnings: [], device,
  kernels: kernels.slice(0, 2).map((one) => ({
    ...one, time_ms: 1,
    bottleneck: {primary: 'memory bandwidth', confidence: 0.75, reasoning: [`memory_share of ${one.name}`], evidence: [], would_change: ['fewer bytes']},
  })),
};

// What hardware counters measured: 1e9 operations and 1e9 bytes in 4 ms, a quarter of the memory's peak, which was measured, too.
const counted = {...kernel('counted', 1e9, 1e9, 1e9), bytes: null, memory_seconds_uncached: null,
  measured: {seconds: 4e-3, memory_bytes: 1e9, l2_bytes: null, of_memory_peak: 0.25, of_compute_peak: 0.0025}};
const measuredRoofline = {
  ...roofline, source: 'rocprofv3, 3 passes', warnings: [], kernels: [counted],
  peaks: {...roofline.peaks, memory: {bytes_per_second: MEMORY, source: 'measured on a card', measured: true, from_table: 2 * MEMORY}},
};

const instruction = (text, unit, hits, latency, stall, idle, source) => [0, 4096, text, unit, hits, latency, stall, idle, source];
const threadTrace = {
  format: 'rochound thread trace', version: 1, warnings: [], files: ['/src/axpy.hip', EVIL],
  traces: [{
    kernel: 'axpy', name: `axpy ${EVIL}`, folder: 'out', agent: '1', dispatch: 7, modelled: true, waves: 4, cycles: 100, simds: 2,
    units: {VALU: {instructions: 4, issue_cycles: 50, stall_cycles: 0, utilisation: 0.25}, wait: {instructions: 4, issue_cycles: 16, stall_cycles: 244, utilisation: 0.08}},
    functions: [{symbol: 'axpy', name: `axpy ${EVIL}`}], columns: [],
    instructions: [instruction('s_load_dword s0', 'SMEM', 4, 16, 0, 0, [[0, 2]]), instruction('s_waitcnt lgkmcnt(0)', 'wait', 4, 260, 244, 0, [[0, 2]]),
      instruction('v_add_f32 v0', 'VALU', 4, 50, 0, 74, [[1, 9], [0, 3]]), instruction('s_endpgm', 'other', 0, 0, 0, 0, [])],
    lines: [{file: 0, line: 2, hits: 8, latency: 276, stall: 244, idle: 0, own_latency: 276}, {file: 0, line: 3, hits: 4, latency: 50, stall: 0, idle: 74, own_latency: 0},
      {file: 1, line: 9, hits: 4, latency: 50, stall: 0, idle: 74, own_latency: 50}],
    occupancy: [[0, 2], [50, 4], [100, 0]],
  }],
  texts: [[0, 1, '__global__ void axpy() {'], [0, 2, '  float a = *x;'], [0, 3, `  y = a; // ${EVIL}`]],
};

async function instructions({page}) {
  await go(page, 'instructions');
  await page.getByRole('heading', {name: 'Instructions', level: 1}).waitFor();
  await page.locator('.modelled', {hasText: 'Nothing was measured'}).waitFor();
  assert.match(await page.locator('.tiles').last().textContent(), /400.*61\.0%.*18\.5%.*4on 2 SIMDs/);
  assert.match(await page.locator('.unit-row[data-unit=VALU]').textContent(), /25\.0%4 instructions/);
  assert.equal(await page.locator('.unit-row').count(), 1, 'waiting is no unit');
  assert.ok(await page.locator('.occupancy path').getAttribute('d'));
  const source = page.getByRole('listbox', {name: 'Source'});
  const code = page.getByRole('listbox', {name: 'Instructions'});
  assert.equal(await code.locator('.row').count(), 4);
  assert.match(await source.locator('[data-line="0:2"]').textContent(), /69\.0%2 {2}float a = \*x;/);
  await source.locator('[data-line="0:3"]').click();
  assert.deepEqual(await code.locator('[aria-selected=true] code').allTextContents(), ['v_add_f32 v0']);
  await code.locator('.row', {hasText: 's_waitcnt'}).click();
  assert.deepEqual(await source.locator('[aria-selected=true] .where').allTextContents(), ['2']);
  await code.locator('.row', {hasText: 's_waitcnt'}).hover();
  assert.match(await page.getByRole('tooltip').textContent(), /4 hits; 260 cycles, 244 of them stalled; idle 0.*65\.0 cycles each time.*axpy\.hip:2/);
  assert.equal(await page.locator('img').count(), 0, 'a text became an image');
  await shoot(page, 'instructions');
}

async function theRoofline({page}) {
  await go(page, 'roofline');
  await page.getByRole('heading', {name: 'Roofline', level: 1}).waitFor();
  await page.locator('.health', {hasText: 'is doubtful'}).waitFor();
  const at = async (name) => page.evaluate((wanted) => {
    const group = [...document.querySelectorAll('.roofline .kernel')].find((one) => one.getAttribute('data-kernel') === wanted);
    const circle = group?.querySelector('circle');
    return circle && ['cx', 'cy', 'r'].map((one) => Number(circle.getAttribute(one)));
  }, name);
  const [large, evil, dense] = [await at('large(float*)'), await at(EVIL), await at('dense')];
  assert.equal(await at('copies'), undefined, 'a kernel without operations was drawn');
  // 1, 10 and 1000 operations per byte; 1e12, 1e13 and 1e14 operations per second.
  const decade = evil[0] - large[0];
  assert.ok(decade > 50 && Math.abs(dense[0] - large[0] - 3 * decade) < 1, 'operations per byte are not logarithmic');
  const rise = large[1] - evil[1];
  assert.ok(rise > 30 && Math.abs(large[1] - dense[1] - 2 * rise) < 1, 'operations per second are not logarithmic');
  assert.ok(large[2] > dense[2] && dense[2] > evil[2], 'circles do not grow with time');
  const roofs = await page.evaluate(() => Object.fromEntries([...document.querySelectorAll('.roofline .roof')].map((one) =>
      [['memory', 'cache'].find((kind) => one.classList.contains(kind)) ?? 'peak', one.getAttribute('d').match(/[\d.]+/g).map(Number)])));
  assert.ok(Math.abs(roofs.peak[1] - dense[1]) < 1, 'a kernel that computes is not at its roof');
  const [x0, y0, x1, y1] = roofs.memory;
  for (const [x, y] of [large, evil]) assert.ok(Math.abs(y0 + (x - x0) * (y1 - y0) / (x1 - x0) - y) < 1, 'a kernel of memory is not at its roof');

  // Ten times as fast: a decade higher everywhere.
  assert.ok(Math.abs(y0 + (roofs.cache[2] - x0) * (y1 - y0) / (x1 - x0) - rise - roofs.cache[3]) < 1, 'the roof of L2 is not where it belongs');
  const circle = page.locator('.roofline .kernel', {has: page.locator('circle')}).nth(0);
  await circle.locator('circle').hover();
  const tip = page.getByRole('tooltip');
  await tip.filter({hasText: 'large(float*)'}).waitFor();
  assert.match(await tip.textContent(), /memory.*1 operations per byte at best, 0\.1 without caches.*0\.5 operations per byte with the modelled caches.*1 T operations\/s.*1\.000 ms in 2 launches/);
  const details = page.locator('.kernel-details');
  assert.match(await details.textContent(), /large\(float\*\).*limit: memory bandwidth \(confidence 0\.75\)/);
  await page.evaluate(() => document.querySelectorAll('.roofline .kernel')[1].focus());
  await page.keyboard.press('Enter');
  assert.match(await details.textContent(), /dense.*because of dense/);
  await page.locator('[role=grid] .body .line', {hasText: 'onerror'}).click();
  assert.match(await details.textContent(), /<img src=x.*memory_share of <img.*fewer bytes/);
  assert.equal(await page.locator('.roofline .kernel[aria-pressed="true"]').getAttribute('data-kernel'), EVIL);
  assert.equal(await page.locator('img').count(), 0, 'a name became an image');
  await shoot(page, 'roofline');
}

async function measured({page}) {
  await go(page, 'roofline');
  await page.locator('.lead', {hasText: 'stands where its launches were measured'}).waitFor();
  const [cx, cy, memory] = await page.evaluate(() => {
    const circle = document.querySelector('.roofline .kernel circle');
    return [Number(circle.getAttribute('cx')), Number(circle.getAttribute('cy')),
      document.querySelector('.roofline .roof.memory').getAttribute('d').match(/[\d.]+/g).map(Number)];
  });
  // Below the memory's roof by a factor of four.
  const [x0, y0, x1, y1] = memory;
  const decade = (y0 - y1) / Math.log10(1e14 / 1e10);
  const below = cy - (y0 + (cx - x0) * (y1 - y0) / (x1 - x0));
  assert.ok(below > 5 && below < 0.7 * decade, `${below} below the roof, a decade is ${decade}`);
  await page.locator('.roofline .kernel circle').hover();
  assert.match(await page.getByRole('tooltip').textContent(), /1 operations per byte.*250 G operations\/s; 4\.000 ms in 2 launches/);
  await page.locator('.roofline .roof.memory + .hit').hover();
  assert.match(await page.getByRole('tooltip').textContent(), /measured on a card.*from the table: 2 T\/s/);
}

await withBrowser(async (browser) => {
  const folder = path.join(work, 'profile');
  fs.mkdirSync(folder);
  fs.writeFileSync(path.join(folder, 'roofline.json'), JSON.stringify(roofline));
  fs.writeFileSync(path.join(folder, 'analysis.json'), JSON.stringify(analysis));
  const trace = path.join(work, 'small.rpd');
  execFileSync(options.generator, ['2000', trace, 'a', 'b'], {stdio: 'ignore'});
  fs.writeFileSync(path.join(folder, 'thread_trace.json'), JSON.stringify(threadTrace));
  const opened = await open(browser, reportOf(trace, '--profile', folder));
  for (const part of [theRoofline, instructions]) {
    await part(opened);
    assert.deepEqual(opened.mischief, [], part.name);
  }
  await opened.context.close();
  fs.writeFileSync(path.join(folder, 'roofline.json'), JSON.stringify(measuredRoofline));
  fs.rmSync(path.join(folder, 'analysis.json'));
  const second = await open(browser, reportOf(trace, '--profile', folder));
  await measured(second);
  assert.deepEqual(second.mischief, [], 'measured');
  await second.context.close();
});
