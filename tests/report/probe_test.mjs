// SPDX-License-Identifier: MIT
//
// A report with what `rochound probe -a report` wrote: the heat map's cells have their numbers, source and
// instructions belong together, and texts that are markup are texts. Leaves a screenshot.

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import {go, open, options, reportOf, shoot, withBrowser, work} from './browser.mjs';

const EVIL = '<img src=x onerror="alert(1)">';

const instruction = (text, at, more) => ({
  instruction: text, action: 'load', bytes: 4, addresses: 'side by side', at, accesses: 2, lanes: 64, lds: false, lines: 2, needed: 2, used_bytes: 256,
  cycles: 0, bank_conflicts: 0, same_dword: 0, misaligned: 0, ...more,
});
const page = (address, lines, places) => ({
  process: 1, address, loads: 64, stores: 0, atomics: 0, lines: Array.from({length: 32}, (_, i) => lines[i] ?? 0), places,
});
const probe = {
  format: 'rochound probe report', version: 1, warnings: [`${EVIL} is doubtful`], dispatches: 1, waves: 2, files: ['/src/columns.hip', EVIL],
  kernels: [{kernel: 'columns', name: `columns ${EVIL}`, instructions: [
    instruction('global_load_dword', [[0, 3]], {lines: 64, addresses: 'stride 256'}), instruction('s_load_dwordx4', [[1, 9], [0, 4]], {bytes: 16, addresses: 'scalar', lanes: 2}),
    instruction('ds_read_b32', [[0, 5]], {lds: true, lines: 0, needed: 0, cycles: 64, bank_conflicts: 62}), instruction('', [[0, 5]], {action: 'store'})]},
  {kernel: 'other', name: 'other', instructions: [instruction('global_store_dwordx2', [[0, 2]], {}), instruction('flat_load_dword', [[0, 5]], {})],
    code: [{text: 's_load_dwordx2 s[0:1], s[4:5], null', at: [[0, 1]], makes: []}, {text: `v_mov_b32_e32 v0, 0 ; ${EVIL}`, at: [[1, 9], [0, 4]], makes: []},
      {text: 'global_store_dwordx2 v[0:1], v2, s[0:1]', at: [[0, 2]], makes: [0]}, {text: 's_endpgm', at: [], makes: []}]}],
  heatmap: {page_bytes: 4096, line_bytes: 128, all_pages: 7, places: [['/src/columns.hip', 3], ['/src/columns.hip', 4]],
    pages: [page('7f0000001000', {0: 64, 5: 3}, [[0, 60], [1, 7]]), page('7f0000002000', {31: 1}, [[1, 1]])]},
  texts: [[0, 1, '__global__ void columns() {'], [0, 2, ''], [0, 3, '  sum += in[column * size + row];'], [0, 4, `  // ${EVIL}`], [0, 5, '  part[i] = 1;']],
};

async function accesses({page}) {
  await go(page, 'accesses');
  await page.getByRole('heading', {name: 'Accesses to memory', level: 1}).waitFor();
  await page.locator('.health', {hasText: 'is doubtful'}).waitFor();
  assert.match(await page.getByRole('region', {name: 'Heat map'}).textContent(), /the hottest 2 of 7/);
  const cells = await page.locator('.heatmap rect').evaluateAll((all) => all.map((one) => [Number(one.dataset.count), Number(one.getAttribute('fill-opacity'))]));
  assert.deepEqual(cells.map(([count]) => count), [64, 3, 60, 7, 1, 1]);
  assert.ok(cells[0][1] > cells[1][1] && cells[1][1] > cells[4][1], 'hot cells are not darker');
  await page.locator('.heatmap rect').nth(1).hover();
  assert.match(await page.getByRole('tooltip').textContent(), /cache line 0x7f0000001280accessed by 3 lanes/);
  const source = page.getByRole('listbox', {name: 'Source'});
  const code = page.getByRole('listbox', {name: 'Instructions'});
  assert.equal(await code.locator('.row').count(), 4);
  assert.match(await source.locator('[data-line="0:3"]').textContent(), /23 {2}sum \+= in/);
  await source.locator('[data-line="0:4"]').click();
  assert.match((await code.locator('[aria-selected=true] code').allTextContents()).join(), /^s_load_dwordx4 +16 B, scalar$/);
  await code.locator('.row', {hasText: 'global_load_dword'}).click();
  assert.deepEqual(await source.locator('[aria-selected=true] .where').allTextContents(), ['3']);
  await code.locator('.row', {hasText: 'ds_read_b32'}).hover();
  assert.match(await page.getByRole('tooltip').textContent(), /64 cycles of LDS, 62 of them bank conflicts/);
  assert.match(await code.textContent(), /store \(not matched\)/);
  await shoot(page, 'accesses');
  await page.getByLabel('Kernel').selectOption('1');
  // The whole kernel, and what of it is not known.
  const whole = page.getByRole('listbox', {name: 'Instructions'}).locator('.row');
  assert.equal(await whole.count(), 5);
  assert.match(await whole.nth(0).textContent(), /^1s_load_dwordx2 s\[0:1\], s\[4:5\], null$/);
  assert.match(await whole.nth(2).textContent(), /^22global_store_dwordx2 v\[0:1\], v2, s\[0:1\]$/);
  assert.match(await whole.nth(4).textContent(), /flat_load_dword +4 B/);
  assert.match(await page.getByRole('listbox', {name: 'Instructions'}).textContent(), /Accesses that are not matched with one of these/);
  // A line that accesses nothing has instructions, too.
  const lines = page.getByRole('listbox', {name: 'Source'});
  await lines.locator('[data-line="0:4"]').click();
  assert.match((await page.getByRole('listbox', {name: 'Instructions'}).locator('[aria-selected=true] code').allTextContents()).join(), /^v_mov_b32_e32/);
  await whole.nth(0).click();
  assert.deepEqual(await lines.locator('[aria-selected=true] .where').allTextContents(), ['1']);
  assert.equal(await page.locator('img').count(), 0, 'a text became an image');
}

await withBrowser(async (browser) => {
  const file = path.join(work, 'probe.json');
  fs.writeFileSync(file, JSON.stringify(probe));
  const trace = path.join(work, 'small.rpd');
  execFileSync(options.generator, ['2000', trace, 'a', 'b'], {stdio: 'ignore'});
  const opened = await open(browser, reportOf(trace, '--probe', file));
  await accesses(opened);
  assert.deepEqual(opened.mischief, []);
  await opened.context.close();
});
