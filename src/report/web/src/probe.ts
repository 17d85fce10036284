// SPDX-License-Identifier: MIT
//
// What `rochound probe -a report` wrote: the heat map of memory, and source and instructions side by
// side, with the accesses of each; all instructions, where another build without probes was given. Choosing a line of one shows those of the other that belong to
// it. Fields are those of docs/formats/probe-report.md.

import {h, svg} from './dom';
import {brief, count, percent} from './format';
import {hideTip, showTip} from './tip';

export interface ProbedInstruction {
  instruction: string;  // empty: not matched with the machine code
  action: string;
  bytes: number;
  addresses: string;
  at: [number, number][];  // file, line; innermost first
  accesses: number;
  lanes: number;
  lds: boolean;
  lines: number;
  needed: number;
  used_bytes: number;
  cycles: number;
  bank_conflicts: number;
  same_dword: number;
  misaligned: number;
}

// One of a kernel without probes.
export interface PlainInstruction {
  text: string;
  at: [number, number][];
  makes: number[];  // places in the list of instructions with costs
}

export interface HeatPage {
  process: number;
  address: string;
  loads: number;
  stores: number;
  atomics: number;
  lines: number[];
  places: [number, number][];  // place, lanes
}

export interface ProbeReport {
  warnings: string[];
  dispatches: number;
  waves: number;
  files: string[];
  kernels: {kernel: string; name: string; instructions: ProbedInstruction[]; code?: PlainInstruction[]}[];
  heatmap: {page_bytes: number; line_bytes: number; all_pages: number; places: [string, number][]; pages: HeatPage[]};
  texts: [number, number, string][];
}

// What memory does for an instruction or a line, and how much of it only since lanes do not share.
interface Cost {
  accesses: number;
  lines: number;
  waste: number;
  cycles: number;
  conflicts: number;
}

const costOf = (one: ProbedInstruction): Cost => ({
  accesses: one.accesses, lines: one.lines, waste: one.lines - one.needed, cycles: one.cycles, conflicts: one.bank_conflicts,
});
const add = (a: Cost, b: Cost): Cost => ({
  accesses: a.accesses + b.accesses, lines: a.lines + b.lines, waste: a.waste + b.waste, cycles: a.cycles + b.cycles, conflicts: a.conflicts + b.conflicts,
});
const sizeOf = (cost: Cost): number => cost.lines + cost.cycles;

function costText(cost: Cost): string[] {
  const lines = [`${count(cost.accesses)} accesses of waves`];
  if (cost.lines > 0) lines.push(`${count(cost.lines)} cache lines; ${count(cost.lines - cost.waste)} would hold the same bytes`);
  if (cost.cycles > 0) lines.push(`${count(cost.cycles)} cycles of LDS, ${count(cost.conflicts)} of them bank conflicts`);
  return lines;
}

function meter(cost: Cost, most: number): HTMLElement {
  const wasted = cost.waste + cost.conflicts;
  const part = (kind: string, value: number) => h('i', {class: kind, style: {width: `${(most > 0 ? 100 * value / most : 0).toFixed(2)}%`}});
  return h('span', {class: 'cost'}, part('issue', sizeOf(cost) - wasted), part('stall', wasted));
}

function withTip(element: Element, title: string, lines: string[]): void {
  element.addEventListener('pointermove', (event) => showTip((event as PointerEvent).clientX, (event as PointerEvent).clientY, title, lines));
  element.addEventListener('pointerleave', hideTip);
}

export class ProbePage {
  readonly element: HTMLElement;
  private readonly texts = new Map<string, string>();
  private readonly body = h('div', {class: 'trace-body'});

  constructor(private readonly probe: ProbeReport) {
    for (const [file, line, text] of probe.texts) this.texts.set(`${file}:${line}`, text);
    this.element = h('div', {class: 'page wide'}, h('h1', {text: 'Accesses to memory'}), h('p', {class: 'lead', text:
        `What ${count(probe.waves)} waves of ${count(probe.dispatches)} dispatches did with memory, as probes in the kernels told it. Accesses are counted ` +
        'as the machine code without probes makes them.'}));
    if (probe.warnings.length > 0) {
      this.element.appendChild(h('section', {class: 'health', 'aria-label': 'Doubts of the probes'},
          h('h2', {text: 'Read this first'}), h('ul', {}, ...probe.warnings.map((text) => h('li', {text})))));
    }
    this.element.appendChild(this.heatmap());
    if (probe.kernels.length > 1) {
      const choice = h('select', {'aria-label': 'Kernel', on: {change: () => this.show(Number(choice.value))}},
          ...probe.kernels.map((kernel, i) => h('option', {value: i, text: brief(kernel.name)})));
      this.element.appendChild(h('div', {class: 'trace-choice'}, choice));
    }
    this.element.appendChild(this.body);
    if (probe.kernels.length > 0) this.show(0);
  }

  private heatmap(): HTMLElement {
    const {pages, places, all_pages, line_bytes} = this.probe.heatmap;
    const cell = 13;
    const left = 150;
    const lanes = pages[0]?.lines.length ?? 0;
    const shownPlaces = places.map((_, i) => i).filter((i) => pages.some((page) => page.places.some(([place]) => place === i))).slice(0, 40);
    const second = left + lanes * cell + 26;
    const width = second + shownPlaces.length * cell + 10;
    const height = 24 + pages.length * cell;
    const hottest = Math.max(1, ...pages.flatMap((page) => [...page.lines, ...page.places.map(([, many]) => many)]));
    const heat = (many: number): string => (0.12 + 0.88 * Math.log(1 + many) / Math.log(1 + hottest)).toFixed(3);
    const picture = svg('svg', {class: 'heatmap', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img',
      'aria-label': `Heat map of ${pages.length} pages of memory`});
    const name = (place: number) => `${places[place]![0].split('/').pop()}:${places[place]![1]}`;
    const square = (x: number, y: number, many: number, title: string, lines: string[]) => {
      const one = svg('rect', {x, y, width: cell - 1, height: cell - 1, 'fill-opacity': heat(many), 'data-count': many});
      withTip(one, title, lines);
      picture.appendChild(one);
    };
    shownPlaces.forEach((place, i) => {
      const text = svg('text', {class: 'place', x: second + i * cell + cell / 2, y: 14});
      text.textContent = String(places[place]![1]);
      withTip(text, name(place), []);
      picture.appendChild(text);
    });
    pages.forEach((page, row) => {
      const y = 20 + row * cell;
      const text = svg('text', {class: 'address', x: left - 8, y: y + cell - 3});
      text.textContent = `0x${page.address}`;
      picture.appendChild(text);
      page.lines.forEach((many, i) => {
        if (many > 0) square(left + i * cell, y, many, `cache line 0x${(BigInt(`0x${page.address}`) + BigInt(i * line_bytes)).toString(16)}`, [`accessed by ${count(many)} lanes`]);
      });
      for (const [place, many] of page.places) {
        const at = shownPlaces.indexOf(place);
        if (at >= 0) square(second + at * cell, y, many, name(place), [`${count(many)} accesses of lanes to page 0x${page.address}`]);
      }
    });
    const left_out = all_pages - pages.length;
    return h('section', {class: 'card', 'aria-label': 'Heat map'},
        h('div', {class: 'title'}, h('h2', {text: 'Where memory is hot'}), h('span', {class: 'note', text:
            `a row per page of 4 KiB${left_out > 0 ? `, the hottest ${count(pages.length)} of ${count(all_pages)}` : ''}; its cache lines on the left, lines of the source on the right`})),
        pages.length > 0 ? h('div', {class: 'heatmap-frame'}, picture as unknown as HTMLElement) : h('p', {class: 'empty', text: 'No access to global memory.'}));
  }

  private show(number: number): void {
    const kernel = this.probe.kernels[number]!;
    const keysOf = (one: {at: [number, number][]}) => one.at.map(([file, line]) => `${file}:${line}`);
    const costs = new Map<string, Cost>();
    for (const one of kernel.instructions) {
      for (const key of new Set(keysOf(one))) {
        const before = costs.get(key);
        costs.set(key, before ? add(before, costOf(one)) : costOf(one));
      }
    }
    const all = kernel.instructions.map(costOf).reduce(add, {accesses: 0, lines: 0, waste: 0, cycles: 0, conflicts: 0});
    const source = new Map<string, HTMLElement>();
    const code: {element: HTMLElement; keys: string[]}[] = [];
    const choose = (keys: string[], from: 'source' | 'code', chosen: HTMLElement) => {
      for (const [key, element] of source) element.setAttribute('aria-selected', String(from === 'source' ? element === chosen : keys.includes(key)));
      for (const one of code) one.element.setAttribute('aria-selected', String(from === 'code' ? one.element === chosen : one.keys.includes(keys[0]!)));
      const other = from === 'source' ? code.find((one) => one.keys.includes(keys[0]!))?.element : keys.map((key) => source.get(key)).find((one) => one !== undefined);
      other?.scrollIntoView({block: 'nearest'});
    };
    const most = Math.max(1, ...[...costs.values()].map(sizeOf));
    const sourceRows = h('div', {class: 'listing source', role: 'listbox', 'aria-label': 'Source', tabindex: '0'});
    // Lines that instructions belong to; not all of them access memory.
    const told = [...new Set([...costs.keys(), ...(kernel.code ?? []).flatMap(keysOf)])];
    const files = [...new Set(told.map((key) => Number(key.split(':')[0])))];
    for (const file of files) {
      sourceRows.appendChild(h('div', {class: 'file', text: this.probe.files[file] ?? ''}));
      const hot = told.filter((key) => Number(key.split(':')[0]) === file).map((key) => Number(key.split(':')[1]));
      const near = this.probe.texts.filter(([of, line]) => of === file && hot.some((one) => Math.abs(one - line) <= 3)).map(([, line]) => line);
      let before = 0;
      for (const line of [...new Set([...hot, ...near])].sort((a, b) => a - b)) {
        if (before !== 0 && line > before + 1) sourceRows.appendChild(h('div', {class: 'gap', text: '⋯'}));
        before = line;
        const key = `${file}:${line}`;
        const cost = costs.get(key);
        const has = hot.includes(line);
        const row = h('div', {class: has ? 'row' : 'row quiet', role: 'option', 'aria-selected': 'false', 'data-line': key},
            ...(cost ? [meter(cost, most), h('span', {class: 'number', text: count(cost.accesses)})] : [h('span'), h('span')]),
            h('span', {class: 'where', text: String(line)}), h('code', {text: this.texts.get(key) ?? ''}));
        if (has) {
          source.set(key, row);
          row.addEventListener('click', () => choose([key], 'source', row));
        }
        if (cost) withTip(row, `line ${line}`, costText(cost));
        sourceRows.appendChild(row);
      }
    }
    const codeRows = h('div', {class: 'listing code', role: 'listbox', 'aria-label': 'Instructions', tabindex: '0'},
        h('div', {class: 'file', text: kernel.name}));
    const mostOne = Math.max(1, ...kernel.instructions.map((one) => sizeOf(costOf(one))));
    for (const one of kernel.code ?? []) {
      const made = one.makes.map((place) => kernel.instructions[place]!).filter((access) => access !== undefined);
      const cost = made.map(costOf).reduce(add, {accesses: 0, lines: 0, waste: 0, cycles: 0, conflicts: 0});
      const keys = keysOf(one);
      const row = h('div', {class: 'row', role: 'option', 'aria-selected': 'false'},
          ...(made.length > 0 ? [meter(cost, mostOne), h('span', {class: 'number', text: count(cost.accesses)})] : [h('span'), h('span')]),
          h('span', {class: 'where', text: one.at[0] ? String(one.at[0][1]) : ''}), h('code', {text: one.text}));
      row.addEventListener('click', () => choose(keys, 'code', row));
      withTip(row, one.text, [...(made.length > 0 ? costText(cost) : []), ...made.map((access) => `${count(access.lanes)} lanes, ${access.bytes} bytes each: ${access.addresses}`),
        ...one.at.map(([file, line]) => `${this.probe.files[file]}:${line}`)]);
      code.push({element: row, keys});
      codeRows.appendChild(row);
    }
    // All accesses, or those whose instruction is not among the kernel's own.
    const shown = new Set((kernel.code ?? []).flatMap((one) => one.makes));
    const rest = kernel.instructions.filter((_, place) => !shown.has(place));
    if (kernel.code && rest.length > 0) codeRows.appendChild(h('div', {class: 'file', text: 'Accesses that are not matched with one of these'}));
    for (const one of rest) {
      const cost = costOf(one);
      const keys = keysOf(one);
      const text = one.instruction !== '' ? one.instruction : `${one.action} (not matched)`;
      const row = h('div', {class: 'row', role: 'option', 'aria-selected': 'false'}, meter(cost, mostOne),
          h('span', {class: 'number', text: count(one.accesses)}), h('span', {class: 'where', text: one.at[0] ? String(one.at[0][1]) : ''}),
          h('code', {text: `${text.padEnd(26)} ${one.bytes} B, ${one.addresses}`}));
      row.addEventListener('click', () => choose(keys, 'code', row));
      withTip(row, text, [...costText(cost), `${count(one.lanes)} lanes, ${one.bytes} bytes each: ${one.addresses}`,
        ...(one.misaligned > 0 ? [`${count(one.misaligned)} lanes are not aligned`] : []), ...one.at.map(([file, line]) => `${this.probe.files[file]}:${line}`)]);
      code.push({element: row, keys});
      codeRows.appendChild(row);
    }
    const legend = h('div', {class: 'legend'}, ...[['issue', 'cache lines and cycles of LDS that are needed'], ['stall', 'those that are wasted']].map(([kind, text]) =>
        h('span', {}, h('i', {class: `swatch ${kind}`}), text!)));
    this.body.replaceChildren(h('section', {class: 'card', 'aria-label': 'Source and instructions'},
        h('div', {class: 'title'}, h('h2', {text: kernel.name}), h('span', {class: 'note', text:
            `${count(all.accesses)} accesses; ${percent(all.waste, all.lines)} of ${count(all.lines)} cache lines wasted` +
            (all.cycles > 0 ? `; ${percent(all.conflicts, all.cycles)} of ${count(all.cycles)} cycles of LDS are bank conflicts` : '')})),
        ...(files.length === 0 ? [h('p', {class: 'notes', text: 'There are no source lines: compile with -g or -gline-tables-only.'})] : []),
        legend, h('div', {class: files.length > 0 ? 'panes two' : 'panes'}, ...(files.length > 0 ? [sourceRows, codeRows] : [codeRows]))));
  }
}
