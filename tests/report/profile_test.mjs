// SPDX-License-Identifier: MIT
//
// A report with what `rochound profile` wrote: the roofline's kernels stand where their figures say,
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
const device = {name: 'a card', target: 'gfx942'};
const roofline = {
  format: 'rochound roofline', version: 1, source: 'the software GPU\'s counters', warnings: [`${EVIL} is doubtful`], device, kernels,
  peaks: {operations: {'vector.f32': {per_second: PEAK, source: 'a document'}}, memory: {bytes_per_second: MEMORY, source: 'a document'}},
};
const analysis = {
  format: 'rochound analysis', version: 1, source: '', warnings: [], device,
  kernels: kernels.slice(0, 2).map((one) => ({
    ...one, time_ms: 1,
    bottleneck: {primary: 'memory bandwidth', confidence: 0.75, reasoning: [`memory_share of ${one.name}`], evidence: [], would_change: ['fewer bytes']},
  })),
};

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
      [one.classList.contains('memory') ? 'memory' : 'peak', one.getAttribute('d').match(/[\d.]+/g).map(Number)])));
  assert.ok(Math.abs(roofs.peak[1] - dense[1]) < 1, 'a kernel that computes is not at its roof');
  const [x0, y0, x1, y1] = roofs.memory;
  for (const [x, y] of [large, evil]) assert.ok(Math.abs(y0 + (x - x0) * (y1 - y0) / (x1 - x0) - y) < 1, 'a kernel of memory is not at its roof');

  const circle = page.locator('.roofline .kernel', {has: page.locator('circle')}).nth(0);
  await circle.locator('circle').hover();
  const tip = page.getByRole('tooltip');
  await tip.filter({hasText: 'large(float*)'}).waitFor();
  assert.match(await tip.textContent(), /memory.*1 operations per byte at best, 0\.1 without caches.*1 T operations\/s.*1\.000 ms in 2 launches/);
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

await withBrowser(async (browser) => {
  const folder = path.join(work, 'profile');
  fs.mkdirSync(folder);
  fs.writeFileSync(path.join(folder, 'roofline.json'), JSON.stringify(roofline));
  fs.writeFileSync(path.join(folder, 'analysis.json'), JSON.stringify(analysis));
  const trace = path.join(work, 'small.rpd');
  execFileSync(options.generator, ['2000', trace, 'a', 'b'], {stdio: 'ignore'});
  for (const colorScheme of ['light', 'dark']) {
    const opened = await open(browser, reportOf(trace, '--profile', folder), {colorScheme});
    await theRoofline(opened);
    assert.deepEqual(opened.mischief, []);
    await opened.context.close();
  }
  // Without a profile there is no such page.
  const plain = await open(browser, reportOf(trace));
  assert.equal(await plain.page.locator('nav a[href="#roofline"]').count(), 0);
  assert.deepEqual(plain.mischief, []);
  await plain.context.close();
});
