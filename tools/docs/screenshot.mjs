// SPDX-License-Identifier: MIT
//
// Pictures of a page in light and dark, by headless Chromium.
//
//   screenshot.mjs --modules DIR --chromium FILE --page FILE#place --output FILE-without-ending [--width N --height N]

import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {parseArgs} from 'node:util';

const {values: options} = parseArgs({options: Object.fromEntries(
    ['modules', 'chromium', 'page', 'output', 'width', 'height'].map((name) => [name, {type: 'string'}]))});
const {chromium} = createRequire(pathToFileURL(path.join(options.modules, 'package.json')))('playwright-core');
const browser = await chromium.launch({
  executablePath: options.chromium, headless: true,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
});
try {
  const [file, place] = options.page.split('#');
  for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({
      colorScheme, viewport: {width: Number(options.width ?? 1280), height: Number(options.height ?? 720)}});
    const page = await context.newPage();
    await page.goto(pathToFileURL(path.resolve(file)).href);
    await page.waitForFunction(() => window.rochoundMarks === undefined || window.rochoundMarks.unpacked > 0);
    if (place) await page.locator(`nav a[href="#${place}"]`).click();
    await page.waitForTimeout(500);
    await page.screenshot({path: `${options.output}-${colorScheme}.png`});
    await context.close();
  }
} finally {
  await browser.close();
}
