// SPDX-License-Identifier: MIT
//
// What tests of the report share: reports made with the built rochound, and a headless Chromium that
// opens them.
//
//   TEST.mjs --modules DIR --rochound FILE --generator FILE --chromium FILE --output DIR

import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import os from 'node:os';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {parseArgs} from 'node:util';

export const {values: options} = parseArgs({options: Object.fromEntries(
    ['modules', 'rochound', 'generator', 'chromium', 'output'].map((name) => [name, {type: 'string'}]))});
if (!options.chromium || !fs.existsSync(options.chromium)) {
  console.log('skipped: no Chromium is installed');
  process.exit(77);
}
const {chromium} = createRequire(pathToFileURL(path.join(options.modules, 'package.json')))('playwright-core');
const screenshots = path.join(options.output, 'screenshots');
fs.mkdirSync(screenshots, {recursive: true});
export const work = fs.mkdtempSync(path.join(os.tmpdir(), 'rochound-report-'));

export function reportOf(trace, ...more) {
  const report = `${trace}.html`;
  execFileSync(options.rochound, ['report', trace, '-o', report, ...more], {stdio: ['ignore', 'inherit', 'inherit']});
  return report;
}

// Runs the test with a browser. Any exception is its failure.
export async function withBrowser(test, finish = () => undefined) {
  const browser = await chromium.launch({
    executablePath: options.chromium, headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  });
  let failed = false;
  try {
    await test(browser);
  } catch (problem) {
    failed = true;
    console.error(problem);
  } finally {
    await browser.close();
    fs.rmSync(work, {recursive: true, force: true});
    finish();
  }
  process.exit(failed ? 1 : 0);
}

// A page on which everything that must not happen is noted.
export async function open(browser, report, settings = {}) {
  const context = await browser.newContext({viewport: {width: 1440, height: 900}, ...settings});
  const page = await context.newPage();
  const mischief = [];
  page.on('dialog', (dialog) => {
    mischief.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', (error) => mischief.push(`error ${error.message}`));
  page.on('console', (message) => message.type() === 'error' && mischief.push(`console ${message.text()}`));
  page.on('request', (request) => {
    if (request.url() !== pathToFileURL(report).href && !request.url().startsWith('data:')) mischief.push(`request ${request.url()}`);
  });
  await page.addInitScript(() => {
    window.alert = () => document.documentElement.setAttribute('data-alerted', 'yes');
  });
  const start = performance.now();
  await page.goto(pathToFileURL(report).href);
  await page.getByRole('heading', {name: 'Overview', level: 1}).waitFor();
  await page.waitForFunction(() => window.rochoundMarks?.painted > 0);
  const painted = performance.now() - start;
  await page.waitForFunction(() => window.rochoundMarks.unpacked > 0, undefined, {timeout: 60000});
  return {context, page, mischief, painted};
}

export const go = async (page, name) => {
  await page.locator(`nav a[href="#${name}"]`).click();
  await page.waitForTimeout(150);
};
export const shoot = (page, name) => page.screenshot({path: path.join(screenshots, `${name}.png`)});
