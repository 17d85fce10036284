// SPDX-License-Identifier: MIT
//
// Bundles the report's front end: node build.mjs MODULES OUTPUT [--types]
// MODULES is where npm put the packages; OUTPUT gets report.js and report.css, each complete in
// itself. --types: have the types checked, too.

import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

const [modules, output, ...options] = process.argv.slice(2);
const here = path.dirname(fileURLToPath(import.meta.url));
const require = createRequire(pathToFileURL(path.resolve(modules, 'package.json')));
const esbuild = require('esbuild');

await esbuild.build({
  entryPoints: {report: path.join(here, 'src/main.ts')},
  outdir: output,
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['chrome103', 'firefox113', 'safari16.4'],  // the first with DecompressionStream
  loader: {'.woff2': 'dataurl'},
  nodePaths: [path.resolve(modules)],
  legalComments: 'inline',
  logLevel: 'warning',
});

if (options.includes('--types')) {
  // The packages do not be above the sources, where the compiler would look for them.
  const settings = path.resolve(output, 'tsconfig.json');
  fs.writeFileSync(settings, JSON.stringify({
    extends: path.join(here, 'tsconfig.json'),
    compilerOptions: {paths: {'*': [path.resolve(modules, '*')]}},
    include: [path.join(here, 'src')],
  }));
  execFileSync(process.execPath, [path.join(modules, 'typescript/bin/tsc'), '-p', settings], {stdio: 'inherit'});
}
