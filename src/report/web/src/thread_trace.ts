// SPDX-License-Identifier: MIT
//
// Thread traces of `rochound profile`: source and instructions side by side, each line with what it
// cost. Choosing a line of one shows those of the other that belong to it. Fields are those of
// docs/formats/profile.md.

import {button, h, svg} from './dom';
import {brief, count, show} from './format';
import {hideTip, showTip} from './tip';

// function, address, instruction, unit, hits, latency, stall, idle, [[file, line], ...]
export type Instruction = [number, number, string, string, number, number, number, number, [number, number][]];

export interface TracedLaunch {
  kernel: string;
  name: string;
  folder: string;
  dispatch: number | null;
  modelled: boolean;
  waves: number | null;
  cycles: number | null;
  simds: number | null;
  units: Record<string, {instructions: number; issue_cycles: number; stall_cycles: number; utilisation: number | null}>;
  functions: {symbol: string; name: string}[];
  instructions: Instruction[];
  lines: {file: number; line: number; hits: number; latency: number; stall: number; idle: number; own_latency: number}[];
  occupancy: [number, number][];
}

export interface ThreadTraces {
  warnings: string[];
  files: string[];
  traces: TracedLaunch[];
  texts: [number, number, string][];
}

const MOST_ROWS = 4000;  // of instructions on the page
const UNITS = ['VALU', 'MFMA', 'VMEM', 'LDS', 'SMEM', 'SALU', 'branch'];

const share = (part: number, whole: number): string => whole > 0 ? show(100 * part / whole, 'percent') : '–';

interface Cost {
  hits: number;
  latency: number;
  stall: number;
  idle: number;
}

// Three parts of what a line took, against the most expensive one.
function meter(cost: Cost, most: number): HTMLElement {
  const part = (kind: string, value: number) => h('i', {class: kind, style: {width: `${(most > 0 ? 100 * value / most : 0).toFixed(2)}%`}});
  return h('span', {class: 'cost'}, part('issue', cost.latency - cost.stall), part('stall', cost.stall), part('idle', cost.idle));
}

export class ThreadTracePage {
  readonly element: HTMLElement;
  private readonly body = h('div', {class: 'trace-body'});
  private readonly texts = new Map<string, string>();

  constructor(private readonly traces: ThreadTraces) {
    for (const [file, line, text] of traces.texts) this.texts.set(`${file}:${line}`, text);
    this.element = h('div', {class: 'page wide'}, h('h1', {text: 'Instructions'}), h('p', {class: 'lead', text:
        'What each instruction and each line of the source cost, summed over the waves that were traced. Cycles are from when an instruction ' +
        'could be issued to its end; idle is the time since the one before.'}));
    if (traces.warnings.length > 0) {
      this.element.appendChild(h('section', {class: 'health', 'aria-label': 'Doubts of the trace'},
          h('h2', {text: 'Read this first'}), h('ul', {}, ...traces.warnings.map((text) => h('li', {text})))));
    }
    if (traces.traces.length > 1) {
      const choice = h('select', {'aria-label': 'Traced launch', on: {change: () => this.show(traces.traces[Number(choice.value)]!)}},
          ...traces.traces.map((trace, i) => h('option', {value: i, text: `${brief(trace.name)}${trace.dispatch === null ? '' : `, dispatch ${trace.dispatch}`}`})));
      this.element.appendChild(h('div', {class: 'trace-choice'}, choice));
    }
    this.element.appendChild(this.body);
    if (traces.traces.length > 0) this.show(traces.traces[0]!);
    else this.element.appendChild(h('p', {class: 'empty', text: 'No instruction was traced.'}));
  }

  private show(trace: TracedLaunch): void {
    const all = trace.instructions.reduce((sum, one) => sum + one[5] + one[7], 0);
    const stalled = trace.instructions.reduce((sum, one) => sum + one[6], 0);
    const idle = trace.instructions.reduce((sum, one) => sum + one[7], 0);
    const tile = (label: string, value: string, more: string) => h('div', {class: 'tile'}, h('div', {class: 'label', text: label}),
        h('div', {class: 'value', text: value}), h('div', {class: 'more', text: more}));
    const parts = [
      h('section', {class: 'card', 'aria-label': 'Launch'},
          h('div', {class: 'title'}, h('h2', {text: trace.name}), h('span', {class: 'note', text: trace.dispatch === null ? '' : `dispatch ${trace.dispatch}`})),
          trace.modelled && h('p', {class: 'modelled', text: 'Modelled: these cycles are what the software GPU’s cost model makes of the instructions ' +
              'that ran. Hits are exact. Nothing was measured on a GPU.'}),
          h('div', {class: 'tiles'}, tile('Cycles of waves', count(all), trace.modelled ? 'modelled' : 'traced'), tile('Stalled', share(stalled, all), 'of them'),
              tile('Idle', share(idle, all), 'of them'), tile('Waves', trace.waves === null ? '–' : count(trace.waves), trace.simds === null ? '' : `on ${count(trace.simds)} SIMDs`))),
      this.units(trace),
      this.occupancy(trace),
      this.listing(trace, all),
    ];
    this.body.replaceChildren(...parts.filter((part): part is HTMLElement => part !== null));
  }

  private units(trace: TracedLaunch): HTMLElement | null {
    const there = UNITS.filter((unit) => trace.units[unit] !== undefined);
    if (there.length === 0) return null;
    const known = there.some((unit) => trace.units[unit]!.utilisation !== null);
    const issued = there.reduce((sum, unit) => sum + trace.units[unit]!.issue_cycles, 0);
    return h('section', {class: 'card', 'aria-label': 'Units'},
        h('div', {class: 'title'}, h('h2', {text: known ? 'Utilisation of units' : 'Issue cycles by unit'}),
            h('span', {class: 'note', text: known ? 'issue cycles, of all cycles of the SIMDs while waves ran' : 'the waves’ own files are missing, so there is no time to compare with'})),
        h('div', {class: 'units'}, ...there.map((unit) => {
          const use = trace.units[unit]!;
          const part = use.utilisation ?? (issued > 0 ? use.issue_cycles / issued : 0);
          return h('div', {class: 'unit-row', 'data-unit': unit}, h('span', {text: unit}),
              h('span', {class: 'meter'}, h('i', {style: {width: `${Math.min(100, 100 * part).toFixed(2)}%`}})),
              h('span', {class: 'number', text: show(100 * part, 'percent')}),
              h('span', {class: 'more', text: `${count(use.instructions)} instructions, ${count(use.stall_cycles)} cycles stalled`}));
        })));
  }

  private occupancy(trace: TracedLaunch): HTMLElement | null {
    if (trace.occupancy.length < 2) return null;
    const first = trace.occupancy[0]![0];
    const last = trace.occupancy[trace.occupancy.length - 1]![0];
    const most = Math.max(...trace.occupancy.map(([, waves]) => waves), 1);
    const x = (time: number) => (1000 * (time - first) / Math.max(1, last - first)).toFixed(1);
    const y = (waves: number) => (100 - 96 * waves / most).toFixed(1);
    let path = `M0 100`;
    trace.occupancy.forEach(([time, waves], i) => path += `L${x(time)} ${y(waves)}H${x(trace.occupancy[i + 1]?.[0] ?? last)}`);
    const picture = svg('svg', {class: 'occupancy', viewBox: '0 0 1000 100', preserveAspectRatio: 'none', role: 'img',
      'aria-label': `Waves over time, at most ${most.toFixed(0)}`}, svg('path', {d: `${path}V100Z`}));
    picture.addEventListener('pointermove', (event) => {
      const {clientX, clientY} = event as PointerEvent;
      const box = picture.getBoundingClientRect();
      const at = first + (last - first) * (clientX - box.left) / box.width;
      const place = trace.occupancy.findLast(([time]) => time <= at) ?? trace.occupancy[0]!;
      showTip(clientX, clientY, `${place[1].toFixed(1)} waves`, [`${count(Math.round(at - first))} cycles after the first`]);
    });
    picture.addEventListener('pointerleave', hideTip);
    return h('section', {class: 'card', 'aria-label': 'Occupancy'}, h('div', {class: 'title'}, h('h2', {text: 'Waves over time'}),
        h('span', {class: 'note', text: `at most ${most.toFixed(1)}, over ${count(last - first)} cycles`})), h('div', {}, picture));
  }

  private listing(trace: TracedLaunch, all: number): HTMLElement {
    const source = new Map<string, HTMLElement>();
    const code: {element: HTMLElement; keys: string[]}[] = [];
    const choose = (keys: string[], from: 'source' | 'code', chosen: HTMLElement) => {
      for (const [key, element] of source) element.setAttribute('aria-selected', String(from === 'source' ? element === chosen : keys.includes(key)));
      for (const one of code) one.element.setAttribute('aria-selected', String(from === 'code' ? one.element === chosen : one.keys.includes(keys[0]!)));
      const other = from === 'source' ? code.find((one) => one.keys.includes(keys[0]!))?.element : keys.map((key) => source.get(key)).find((element) => element !== undefined);
      other?.scrollIntoView({block: 'nearest'});
    };
    const cells = (cost: Cost, most: number): HTMLElement[] => [
      meter(cost, most), h('span', {class: 'number', text: cost.hits > 0 ? share(cost.latency + cost.idle, all) : ''}),
    ];
    const tipOf = (element: HTMLElement, title: string, cost: Cost, more: string[] = []) => {
      element.addEventListener('pointermove', (event) => showTip(event.clientX, event.clientY, title, [
        `${count(cost.hits)} hits; ${count(cost.latency)} cycles, ${count(cost.stall)} of them stalled; idle ${count(cost.idle)}`,
        cost.hits > 0 ? `${(cost.latency / cost.hits).toFixed(1)} cycles each time` : 'never issued', ...more,
      ]));
      element.addEventListener('pointerleave', hideTip);
    };

    // --- source: files by what they cost, their lines in order
    const costs = new Map(trace.lines.map((line) => [`${line.file}:${line.line}`, line]));
    const files = [...new Set(trace.lines.map((line) => line.file))];
    const numbers = (file: number) => [...new Set([...trace.lines.filter((line) => line.file === file).map((line) => line.line),
      ...this.traces.texts.filter(([of, line]) => of === file && trace.lines.some((one) => one.file === file && Math.abs(one.line - line) <= 3)).map(([, line]) => line)])]
        .sort((a, b) => a - b);
    const mostLine = Math.max(...trace.lines.map((line) => line.latency + line.idle), 1);
    const sourceRows = h('div', {class: 'listing source', role: 'listbox', 'aria-label': 'Source', tabindex: '0'});
    for (const file of files) {
      sourceRows.appendChild(h('div', {class: 'file', text: this.traces.files[file] ?? ''}));
      let before = 0;
      for (const line of numbers(file)) {
        if (before !== 0 && line > before + 1) sourceRows.appendChild(h('div', {class: 'gap', text: '⋯'}));
        before = line;
        const key = `${file}:${line}`;
        const cost = costs.get(key);
        const row = h('div', {class: cost ? 'row' : 'row quiet', role: 'option', 'aria-selected': 'false', 'data-line': key},
            ...(cost ? cells(cost, mostLine) : [h('span'), h('span')]), h('span', {class: 'where', text: String(line)}), h('code', {text: this.texts.get(key) ?? ''}));
        if (cost) {
          source.set(key, row);
          row.addEventListener('click', () => choose([key], 'source', row));
          tipOf(row, `line ${line}`, cost, [`${count(cost.own_latency)} cycles are its own; the others come from functions that were inlined here`].slice(0, cost.own_latency < cost.latency ? 1 : 0));
        }
        sourceRows.appendChild(row);
      }
    }
    // --- instructions, in the order of their addresses
    const large = trace.instructions.length > MOST_ROWS;
    const shown = (large ? trace.instructions.filter((one) => one[4] > 0) : trace.instructions).slice(0, MOST_ROWS);
    const mostInstruction = Math.max(...shown.map((one) => one[5] + one[7]), 1);
    const codeRows = h('div', {class: 'listing code', role: 'listbox', 'aria-label': 'Instructions', tabindex: '0'});
    let last = -1;
    for (const [place, address, text, unit, hits, latency, stall, idle, where] of shown) {
      if (place !== last) codeRows.appendChild(h('div', {class: 'file', text: trace.functions[place]?.name ?? ''}));
      last = place;
      const cost = {hits, latency, stall, idle};
      const keys = where.map(([file, line]) => `${file}:${line}`);
      const row = h('div', {class: hits > 0 ? 'row' : 'row quiet', role: 'option', 'aria-selected': 'false'}, ...cells(cost, mostInstruction),
          h('span', {class: 'where', text: hits > 0 ? count(hits) : ''}), h('code', {text}));
      row.addEventListener('click', () => choose(keys, 'code', row));
      tipOf(row, text, cost, [`${unit}, at 0x${address.toString(16)}`, ...where.map(([file, line]) => `${this.traces.files[file]}:${line}`)]);
      code.push({element: row, keys});
      codeRows.appendChild(row);
    }
    const legend = h('div', {class: 'legend'}, ...[['issue', 'issuing and executing'], ['stall', 'stalled'], ['idle', 'idle before it']].map(([kind, text]) =>
        h('span', {}, h('i', {class: `swatch ${kind}`}), text!)));
    const panes = files.length > 0 ? [sourceRows, codeRows] : [codeRows];
    const notes = [
      files.length === 0 && h('p', {class: 'notes', text: 'There are no source lines: compile with -g or -gline-tables-only.'}),
      large && h('p', {class: 'notes', text: `${count(trace.instructions.length)} instructions are traced; up to ${count(MOST_ROWS)} that were issued are shown.`}),
    ];
    const hottest = () => {
      const places = shown.map((one, i): [number, number] => [one[5] + one[7], i]).sort((a, b) => b[0] - a[0]);
      const row = places.length > 0 ? code[places[0]![1]] : undefined;
      row?.element.scrollIntoView({block: 'center'});
      row?.element.click();
    };
    return h('section', {class: 'card', 'aria-label': 'Source and instructions'},
        h('div', {class: 'title'}, h('h2', {text: files.length > 0 ? 'Source and instructions' : 'Instructions'}), h('span', {class: 'note', text: 'choose a line to see what belongs to it'}),
            button('Most expensive', hottest, {class: 'chip'})),
        ...notes.filter((note): note is HTMLParagraphElement => note !== false), legend, h('div', {class: files.length > 0 ? 'panes two' : 'panes'}, ...panes));
  }
}
