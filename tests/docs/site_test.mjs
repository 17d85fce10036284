// SPDX-License-Identifier: MIT
//
// Opens the documentation site in headless Chromium: every page is there and asks for nothing
// elsewhere, the search finds a page, pictures are shown, and it can be dark.
//
//   site_test.mjs --modules DIR --chromium FILE --site DIR

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {parseArgs} from 'node:util';

const {values: options} = parseArgs({options: Object.fromEntries(
    ['modules', 'chromium', 'site'].map((name) => [name, {type: 'string'}]))});
const index = path.join(options.site, 'index.html');
if (!options.chromium || !fs.existsSync(options.chromium) || !fs.existsSync(index)) {
  console.log('skipped: there is no Chromium, or no site');
  process.exit(77);
}
const {chromium} = createRequire(pathToFileURL(path.join(options.modules, 'package.json')))('playwright-core');

const KINDS = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.png': 'image/png', '.json': 'application/json'};
const server = http.createServer((request, response) => {
  const name = path.join(options.site, decodeURIComponent(new URL(request.url, 'http://host').pathname));
  const file = fs.existsSync(name) && fs.statSync(name).isDirectory() ? path.join(name, 'index.html') : name;
  if (!fs.existsSync(file)) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, {'content-type': KINDS[path.extname(file)] ?? 'text/plain'}).end(fs.readFileSync(file));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const home = `http://127.0.0.1:${server.address().port}/`;

const browser = await chromium.launch({
  executablePath: options.chromium, headless: true,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
});
let failed = false;
try {
  const context = await browser.newContext({viewport: {width: 1440, height: 900}, colorScheme: 'light'});
  const page = await context.newPage();
  const mischief = [];
  page.on('pageerror', (error) => mischief.push(`error ${error.message}`));
  page.on('console', (message) => message.type() === 'error' && mischief.push(`console ${message.text()}`));
  page.on('response', (response) => response.status() >= 400 && mischief.push(`${response.status()} ${response.url()}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(home) && !request.url().startsWith('data:') && !request.url().startsWith('blob:')) mischief.push(`request ${request.url()}`);
  });

  await page.goto(home);
  await page.getByRole('heading', {level: 1, name: /rochound/}).waitFor();
  const broken = await page.evaluate(() => [...document.images].filter((one) => one.complete && one.naturalWidth === 0).map((one) => one.src));
  assert.deepEqual(broken, [], 'pictures that are not shown');
  assert.ok(await page.evaluate(() => document.images.length) >= 2, 'the home page has no pictures');

  // Dark, for whom it is. A context of its own: the site remembers what it chose at the first visit.
  const light = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const night = await browser.newContext({colorScheme: 'dark'});
  const darkPage = await night.newPage();
  await darkPage.goto(home);
  // The page's own script chooses, once it is loaded.
  await darkPage.waitForFunction((before) => getComputedStyle(document.body).backgroundColor !== before, light, {timeout: 30000});
  await night.close();

  // A word of one page leads there.
  await page.locator('.md-search__input').click();
  await page.keyboard.type('ROCHOUND_HANG');  // key by key: the search listens to keys
  const found = page.locator('.md-search-result__link', {hasText: 'Environment variables'}).first();
  await found.waitFor({timeout: 30000});

  const pages = fs.readdirSync(options.site, {recursive: true}).filter((name) => name.endsWith('.html') && name !== '404.html');
  for (const name of pages) {
    await page.goto(new URL(name, home).href, {waitUntil: 'domcontentloaded'});
    assert.ok(await page.locator('article h1').count() >= 1, `${name} has no heading`);
  }
  assert.deepEqual(mischief, []);
  console.log(`${pages.length} pages opened`);
} catch (problem) {
  failed = true;
  console.error(problem);
} finally {
  await browser.close();
  server.close();
}
process.exit(failed ? 1 : 0);
