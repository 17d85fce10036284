// SPDX-License-Identifier: MIT
//
// Opens a report made from a million events in headless Chromium and uses it as a person would:
// looks, zooms, sorts, filters, follows links. Nothing may leave the file, and kernels whose names
// are markup must be names and nothing else. Leaves screenshots and figures in the output folder.

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import {go, open, options, reportOf, shoot, withBrowser, work} from './browser.mjs';

const EVENTS = 1_000_000;
const SCRIPT = '<script>alert(1)</script>';
const IMAGE = '</script><img src=x onerror="alert(2)">';
const figures = {};

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const at95 = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.95)];

function makeReport(name, events, ...more) {
  const trace = path.join(work, `${name}.rpd`);
  execFileSync(options.generator, [String(events), trace, SCRIPT, IMAGE], {stdio: 'ignore'});
  const start = performance.now();
  const report = reportOf(trace, ...more);
  figures[`${name}_seconds`] = (performance.now() - start) / 1000;
  figures[`${name}_bytes`] = fs.statSync(report).size;
  fs.rmSync(trace);
  return report;
}

const view = (page) => page.evaluate(() => {
  const {begin, perPixel} = window.rochoundMarks.lanes();
  return {begin, perPixel};
});
const cells = (page, table, column) => page.evaluate(([label, place]) =>
    [...document.querySelectorAll(`[role=grid][aria-label="${label}"] .body .line`)]
        .sort((a, b) => a.getAttribute('aria-rowindex') - b.getAttribute('aria-rowindex'))
        .map((line) => line.children[place].textContent), [table, column]);

async function overview({page, painted, mischief}) {
  figures.first_paint_ms = painted;
  figures.unpacked_ms = await page.evaluate(() => window.rochoundMarks.unpacked);
  assert.ok(painted < 15000, `first paint took ${painted} ms`);
  // The markup of a name is its text.
  await page.locator('.bars .bar', {hasText: SCRIPT}).first().waitFor();
  await page.locator('.bars .bar', {hasText: '</script><img src=x'}).first().waitFor();
  assert.equal(await page.locator('img').count(), 0, 'a name became an image');
  assert.ok(await page.locator('.u-wrap canvas').count() >= 2, 'the plots over time are missing');
  assert.equal(await page.locator('nav a[href="#roofline"], nav a[href="#instructions"]').count(), 0, 'there is no profile to show');
  await shoot(page, 'overview');
  await page.locator('main').evaluate((main) => main.scrollTo(0, main.scrollHeight));
  await page.waitForTimeout(200);
  await shoot(page, 'overview-below');
  // A plot leads to its row.
  await page.locator('main').evaluate((main) => main.scrollTo(0, 0));
  await page.locator('.bars .bar', {hasText: SCRIPT}).first().click();
  const chosen = page.locator('.grid .line[aria-selected="true"]');
  await chosen.waitFor();
  assert.match(await chosen.textContent(), /<script>alert\(1\)<\/script>/);
  assert.deepEqual(mischief, []);
}

async function tables({page}) {
  await go(page, 'top');
  const label = 'Kernels by name';
  const grid = page.locator(`[role=grid][aria-label="${label}"]`);
  const header = (name) => grid.locator('[role=columnheader]', {hasText: name});
  const numbers = async () => (await cells(page, label, 1)).map((text) => Number(text.replaceAll(',', '')));
  await header('calls').getByRole('button').click();
  assert.equal(await header('calls').getAttribute('aria-sort'), 'descending');
  await page.waitForTimeout(400);
  let calls = await numbers();
  assert.ok(calls.length > 5 && calls.every((value, i) => i === 0 || value <= calls[i - 1]), 'not sorted downwards');
  await header('calls').getByRole('button').click();
  await page.waitForTimeout(400);
  calls = await numbers();
  assert.equal(await header('calls').getAttribute('aria-sort'), 'ascending');
  assert.ok(calls.every((value, i) => i === 0 || value >= calls[i - 1]), 'not sorted upwards');
  await shoot(page, 'kernels');
  await page.getByRole('searchbox', {name: `Filter ${label}`, exact: true}).fill('gemm_kernel -39');
  await page.waitForTimeout(400);
  const kept = await cells(page, label, 0);
  assert.ok(kept.length > 5 && kept.every((text) => text.includes('gemm_kernel') && !text.includes('39')), 'not filtered');
  await page.getByRole('searchbox', {name: `Filter ${label}`, exact: true}).fill('alert(1)');
  await page.waitForTimeout(400);
  assert.equal((await cells(page, label, 0)).length, 1);
  // By keyboard alone.
  await grid.focus();
  await page.keyboard.press('ArrowDown');
  await grid.locator('.line[aria-selected="true"]').first().waitFor();
  assert.equal(await grid.locator('.line[aria-selected="true"]').count(), 1);
  await page.getByRole('button', {name: 'Find in the timeline'}).click();
  await page.locator('.details h2', {hasText: SCRIPT}).waitFor();
  // A long table has only what is in sight in the document.
  await go(page, 'variability');
  const lines = await page.locator('[role=grid] .body .line').count();
  assert.ok(lines > 0 && lines < 200, `${lines} rows are in the document`);
}

async function timeline({page}) {
  await go(page, 'timeline');
  await page.getByRole('searchbox', {name: 'Find events by name'}).fill('');
  await page.getByRole('button', {name: 'Whole trace'}).click();
  await page.waitForTimeout(200);
  await shoot(page, 'timeline-whole');
  const canvas = await page.locator('.lanes canvas').boundingBox();
  const before = await view(page);
  await page.evaluate(() => window.rochoundMarks.frames.length = 0);
  await page.mouse.move(canvas.x + canvas.width / 2, canvas.y + 60);
  for (let i = 0; i < 24; ++i) {
    await page.mouse.wheel(0, -220);
    await page.waitForTimeout(20);
  }
  const near = await view(page);
  assert.ok(near.perPixel < before.perPixel / 1000, 'the wheel does not zoom');
  await page.mouse.down();
  await page.mouse.move(canvas.x + canvas.width / 2 - 300, canvas.y + 60, {steps: 20});
  await page.mouse.up();
  const moved = await view(page);
  assert.ok(Math.abs(moved.begin - near.begin - 300 * near.perPixel) < 5 * near.perPixel, 'dragging does not move');
  await page.locator('.lanes').focus();
  await page.keyboard.down('d');
  await page.waitForTimeout(250);
  await page.keyboard.up('d');
  assert.ok((await view(page)).begin > moved.begin, 'D does not move');
  const scale = (await view(page)).perPixel;
  await page.keyboard.down('s');
  await page.waitForTimeout(400);
  await page.keyboard.up('s');
  assert.ok((await view(page)).perPixel > scale, 'S does not zoom out');
  const frames = await page.evaluate(() => window.rochoundMarks.frames);
  figures.frames = frames.length;
  figures.frame_median_ms = median(frames);
  figures.frame_at_95_ms = at95(frames);
  // Sixteen are the goal on a quiet machine with a GPU; this one has neither.
  assert.ok(median(frames) < 50, `a frame takes ${median(frames)} ms`);
}

async function details({page}) {
  const search = page.getByRole('searchbox', {name: 'Find events by name'});
  await search.fill('gemm_kernel<7');
  await search.press('Enter');
  await page.locator('.details h2', {hasText: 'gemm_kernel<7'}).waitFor();
  await page.waitForTimeout(200);
  await shoot(page, 'timeline-event');
  const known = await page.locator('.details dl').innerText();
  assert.match(known, /Grid\s*[\d,]+ × 1 × 1 work items/, `the grid is not among ${known}`);
  assert.match(known, /Workgroup\s*256 × 1 × 1, [\d,]+ of them/, `the workgroup is not among ${known}`);
  // From a kernel to its launch and back.
  await page.getByRole('button', {name: /^Launched by hipLaunchKernel/}).click();
  await page.locator('.details h2', {hasText: 'hipLaunchKernel'}).waitFor();
  await page.getByRole('button', {name: /^→ .*gemm_kernel<7/}).click();
  await page.locator('.details h2', {hasText: 'gemm_kernel<7'}).waitFor();
  await page.getByRole('button', {name: 'Show in its table'}).click();
  // Rows are painted with the next frame; until then the row chosen before is still marked.
  await page.locator('.grid .line[aria-selected="true"]', {hasText: 'gemm_kernel<7'}).waitFor();
  // Measuring a span.
  await go(page, 'timeline');
  await search.fill('');
  const canvas = await page.locator('.lanes canvas').boundingBox();
  await page.keyboard.down('Shift');
  await page.mouse.move(canvas.x + 200, canvas.y + 100);
  await page.mouse.down();
  await page.mouse.move(canvas.x + 600, canvas.y + 100, {steps: 5});
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await page.locator('.details h2', {hasText: 'Span of time'}).waitFor();
}

// Every page, in both colour schemes: nothing fails, and there is something to see.
async function everyPage(browser, report) {
  for (const colorScheme of ['light', 'dark']) {
    const opened = await open(browser, report, {colorScheme});
    const {page, mischief, context} = opened;
    const names = await page.locator('nav a').evaluateAll((links) => links.map((link) => link.getAttribute('href').slice(1)));
    assert.ok(names.includes('timeline') && names.includes('top') && names.includes('health'), names.join());
    for (const name of names) {
      await go(page, name);
      assert.equal(await page.locator('h1').count(), 1, `${name} has no heading`);
      if (name === 'flame' || name === 'timeline') await page.waitForTimeout(200);
      await shoot(page, `page-${name}-${colorScheme}`);
    }
    assert.deepEqual(mischief, []);
    await context.close();
  }
}

// The policy of the file holds even if a name became markup some day.
async function policy({page}) {
  const outcome = await page.evaluate(async () => {
    const script = document.createElement('script');
    script.textContent = 'window.intruder = true';
    document.body.append(script);
    const image = document.createElement('div');
    image.innerHTML = '<img src="data:," onerror="window.intruder = true">';
    document.body.append(image);
    await new Promise((resolve) => setTimeout(resolve, 300));
    let fetched = true;
    try {
      await fetch('http://127.0.0.1:9/');
    } catch {
      fetched = false;
    }
    return {intruder: window.intruder === true, fetched};
  });
  assert.deepEqual(outcome, {intruder: false, fetched: false});
  assert.equal(await page.evaluate(() => document.documentElement.getAttribute('data-alerted')), null, 'a name was run as a script');
}

async function thinned(browser) {
  const report = makeReport('thinned', 60000, '--events', '9000');
  const {page, mischief, context} = await open(browser, report);
  await go(page, 'timeline');
  await page.getByRole('note').filter({hasText: 'Thinned'}).waitFor();
  await page.waitForTimeout(200);
  await shoot(page, 'timeline-thinned');
  assert.deepEqual(mischief, []);
  await context.close();
}

// PyTorch's profile of one rank: it lists all GPUs of the machine, numbers streams, and lacks the calls before it began.
async function ofOneRank(browser) {
  const range = (cat, name, pid, tid, ts, dur, args) => ({ph: 'X', cat, name, pid, tid, ts, dur, args});
  const trace = path.join(work, 'rank.json');
  fs.writeFileSync(trace, JSON.stringify({
    deviceProperties: Array.from({length: 8}, (_, id) => ({id, name: 'AMD Instinct MI300X', numSms: 304, computeMajor: 9})),
    traceEvents: [
      range('cuda_runtime', 'hipLaunchKernel', 9, 9, 100, 5, {correlation: 1}),
      range('kernel', 'transpose_16x32_half', 0, 7, 110, 50, {device: 0, stream: 7, correlation: 1, grid: [4, 1, 1], block: [64, 1, 1]}),
      range('kernel', 'transpose_16x32_half', 0, 7, 10, 40, {device: 0, stream: 7, correlation: 99, grid: [4, 1, 1], block: [64, 1, 1]}),
    ]}));
  const {page, mischief, context} = await open(browser, reportOf(trace));
  const tile = await page.locator('.tile', {hasText: 'GPU busy'}).innerText();
  assert.match(tile, /60\.0\s*%/, `90 of 150 us are busy: ${tile}`);
  assert.match(tile, /GPU 0, 7 without work/, tile);
  await shoot(page, 'overview-one-rank');
  await go(page, 'timeline');
  const lanes = await page.locator('.lane b').allInnerTexts();
  assert.deepEqual(lanes, ['Stream 7', 'Main thread 9']);
  assert.deepEqual(mischief, []);
  await context.close();
}

await withBrowser(async (browser) => {
  const report = makeReport('million', EVENTS);
  assert.ok(figures.million_bytes < 30e6, `the report has ${figures.million_bytes} bytes`);
  const html = fs.readFileSync(report, 'utf8');
  assert.ok(!html.includes(SCRIPT) && !html.includes('<img'), 'a name stands in the file as markup');
  const opened = await open(browser, report);
  for (const part of [overview, tables, timeline, details]) {
    await part(opened);
    assert.deepEqual(opened.mischief, [], part.name);
    console.log(`${part.name}: good`);
  }
  await policy(opened);
  await opened.context.close();
  await everyPage(browser, report);
  await thinned(browser);
  await ofOneRank(browser);
}, () => {
  fs.writeFileSync(path.join(options.output, 'figures.json'), `${JSON.stringify(figures, null, 2)}\n`);
  console.log(JSON.stringify(figures));
});
