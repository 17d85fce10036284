// SPDX-License-Identifier: MIT
//
// A report with a journal of `rochound optimize`: the history has a mark for every candidate, reasons are counted, a
// candidate tells where it failed, and the roofline has it before and after. Names that are markup are names. Leaves a
// screenshot in the output folder.

import assert from 'node:assert/strict';
import {execFileSync, spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import {go, open, options, reportOf, shoot, withBrowser, work} from './browser.mjs';

const EVIL = '<img src=x onerror="alert(1)">';
const resources = (vgprs) => ({vgprs, sgprs: 16, lds_bytes: 0});
const point = (name, seconds) => ({
  kernel: name, name, grid: [256, 1, 1], workgroup: [64, 1, 1], launches: 1, operations: {'vector.f32': 1e6},
  bytes: {compulsory: 1e5, requested: 1e5, uncached: 1e6}, compute_seconds_least: 1e-8, memory_seconds_least: 1e-7, verdict: 'memory', reasons: ['why'],
  modelled_seconds: seconds,
});
const roofline = {
  format: 'rochound roofline', version: 1, source: 'a model', warnings: [], device: {name: 'a card', target: 'gfx1030'},
  peaks: {operations: {'vector.f32': {per_second: 1e14, source: ''}}, memory: {bytes_per_second: 1e12, source: ''}},
  kernels: [point('before, 1.bundle', 4e-6), point('after, 1.bundle', 1e-6)],
};
const launch = (candidate) => ({bundle: '1.bundle', shape: 'grid 256x1x1', comparison: 'equal, every byte',
  modelled_cycles: {original: 4000, candidate, ratio: 4000 / candidate, low: 3.9, high: 4.1}, notes: []});
const verdict = (reason, more = {}) => ({reason, demangled: `gemm ${EVIL}`, target: 'gfx1030', metric: 'modelled cycles', ...more});
const candidates = [
  ['wrong.hip', 'judged', 'different', `1 element differs ${EVIL}`, 0, 0,
    verdict('different', {launches: [{bundle: '1.bundle', shape: 'grid 256x1x1', reason: 'different', message: 'out[3]: 4 instead of 5'}]})],
  ['broken.hip', 'judged', 'does-not-build', 'the compiler ended with exit code 1', 0, 0, verdict('does-not-build', {build_log: `error: ${EVIL}`})],
  ['again.hip', 'judged', 'different', 'again', 0, 0, verdict('different')],
  ['tiles.hip', 'applied', 'faster', '4 times faster', 1000, 4,
    verdict('faster', {launches: [launch(1000)], original_resources: resources(12), candidate_resources: resources(24), roofline})],
  ['same.hip', 'judged', 'no-difference', 'the same', 4000, 1, verdict('no-difference', {launches: [launch(4000)]})],
];

function writeJournal(file) {
  const quoted = (text) => `'${String(text).replaceAll('\'', '\'\'')}'`;
  const rows = candidates.map(([name, state, reason, message, cost, speedup, json], i) => `INSERT INTO candidate VALUES (${i + 1}, ${quoted(name)}, ${quoted(name)}, '-O3', 'all', ` +
      `${quoted(state)}, ${quoted(reason)}, ${quoted(message)}, '', ${cost}, ${speedup}, 1.5, ${quoted(JSON.stringify(json))}, '', '2026-11-16T20:00:00Z');`);
  const sql = `CREATE TABLE candidate (id INTEGER PRIMARY KEY, key TEXT, name TEXT, flags TEXT, stage TEXT, state TEXT, reason TEXT, message TEXT, sha256 TEXT,
    cost REAL, speedup REAL, seconds REAL, verdict TEXT, object TEXT, at TEXT);
    CREATE TABLE event (id INTEGER PRIMARY KEY, text TEXT, at TEXT); CREATE TABLE exchange (id INTEGER PRIMARY KEY, url TEXT, request TEXT, answer TEXT,
    problem TEXT, seconds REAL, at TEXT); INSERT INTO event VALUES (1, 'candidate 4 is applied', 'now'); ${rows.join('\n')}`;
  execFileSync('sqlite3', [file], {input: sql});
}

async function thePage({page}) {
  await go(page, 'optimize');
  await page.getByRole('heading', {name: 'Optimize', level: 1}).waitFor();
  assert.match(await page.locator('.lead').first().textContent(), /gemm <img.*gfx1030.*no measurement of silicon/);
  assert.match(await page.locator('.tiles').first().textContent(), /Candidates5.*Equal2.*Best4\.00 ×tiles\.hip.*Stateapplied/);
  const marks = await page.evaluate(() => [...document.querySelectorAll('.history .candidate')].map((one) =>
      [one.getAttribute('data-candidate'), one.className.baseVal, Number(one.querySelector('circle')?.getAttribute('cy') ?? NaN)]));
  assert.deepEqual(marks.map(([id, kind]) => [id, kind]), [['1', 'candidate rejected'], ['2', 'candidate rejected'], ['3', 'candidate rejected'], ['4', 'candidate faster'],
    ['5', 'candidate equal']]);
  assert.ok(marks[3][2] > marks[4][2] + 50, 'what costs less is not drawn lower');
  assert.match(await page.locator('[data-reason=different]').textContent(), /its results are different2/);
  assert.equal(await page.locator('.bar.reason').first().getAttribute('data-reason'), 'different');

  const details = page.locator('.candidate-details');
  assert.match(await details.textContent(), /Candidate 4: tiles\.hip.*equal and faster: 4 times faster.*4000 before, 1000 after: 4\.00 ×.*equal, every byte/);
  assert.deepEqual(await details.locator('.changed').allTextContents(), ['vgprs1224']);
  await page.locator('.history [data-candidate="1"]').focus();
  await page.keyboard.press('Enter');
  assert.match(await details.textContent(), /1 element differs <img.*rejected here: out\[3\]: 4 instead of 5/);
  await page.locator('[role=grid] .body .line', {hasText: 'broken.hip'}).click();
  assert.match(await details.locator('.build-log').textContent(), /error: <img/);
  await page.locator('.history [data-candidate="4"] circle').hover();
  await page.getByRole('tooltip').filter({hasText: 'cost 1000, original 4000'}).waitFor();

  // Four times as fast: higher on the roofline, in the same column.
  const [before, after] = await page.evaluate(() => ['before, 1.bundle', 'after, 1.bundle'].map((name) => {
    const circle = [...document.querySelectorAll('.roofline .kernel')].find((one) => one.getAttribute('data-kernel') === name).querySelector('circle');
    return ['cx', 'cy'].map((one) => Number(circle.getAttribute(one)));
  }));
  assert.ok(Math.abs(before[0] - after[0]) < 1 && after[1] < before[1] - 20, 'the roofline does not show what changed');
  assert.match(await page.locator('.events').textContent(), /candidate 4 is applied/);
  assert.equal(await page.locator('img').count(), 0, 'a text became an image');
  await shoot(page, 'optimize');
}

await withBrowser(async (browser) => {
  const folder = path.join(work, 'optimize');
  fs.mkdirSync(folder);
  const trace = path.join(work, 'small.rpd');
  execFileSync(options.generator, ['2000', trace, 'a', 'b'], {stdio: 'ignore'});
  // A file that is something else stays as it is.
  const before = fs.readFileSync(trace);
  const refused = spawnSync(options.rochound, ['report', trace, '--optimize', trace, '-o', path.join(work, 'no.html')], {encoding: 'utf8'});
  assert.equal(refused.status, 125);
  assert.match(refused.stderr, /is no journal of rochound optimize/);
  assert.ok(before.equals(fs.readFileSync(trace)), 'the trace was changed');
  writeJournal(path.join(folder, 'journal.sqlite'));
  const opened = await open(browser, reportOf(trace, '--optimize', folder));
  await thePage(opened);
  assert.deepEqual(opened.mischief, []);
  await opened.context.close();
});
