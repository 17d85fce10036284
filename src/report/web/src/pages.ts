// SPDX-License-Identifier: MIT
//
// The pages that are made of answers: the overview, and one page per question. Tables are shown as
// they are; questions that the page knows also get a plot.

import {BUSY, causeColor, kernelColor} from './colors';
import type {Answer, Cell, Report, Table} from './data';
import {columnOf, tableOf} from './data';
import {findingsBox} from './findings';
import {h} from './dom';
import type {Events} from './events';
import {count, quantity, show} from './format';
import {bars, BYTE_STEPS, overTime, stacks, type Stack} from './plots';
import {TableView} from './table';

// What pages ask of the frame around them.
export interface Frame {
  report: Report;
  events: Promise<Events>;
  openRow: (question: string, value: string) => void;
  openPage: (page: string) => void;
  highlight: (name: string) => void;
  goTo: (begin: number, end: number) => void;
}

export const titleOf = (report: Report, question: string): string =>
    report.answers.find((answer) => answer.question === question)?.title ?? question;

const number = (cell: Cell | undefined): number => typeof cell === 'number' ? cell : 0;

export function healthBox(report: Report): HTMLElement {
  if (report.health.length === 0) return h('div', {class: 'clean', text: 'Complete: nothing is known to be missing from this trace.'});
  return h('section', {class: 'health', 'aria-label': 'Health'}, h('h2', {text: 'Read this first: the trace is not clean'}),
      h('ul', {}, ...report.health.map((text) => h('li', {text}))));
}

function card(title: string, span: number, content: Node | null, note = '', link?: {text: string; page: string}): HTMLElement | null {
  if (content === null) return null;
  return h('section', {class: `card span-${span}`, 'aria-label': title},
      h('div', {class: 'title'}, h('h2', {text: title}), note !== '' && h('span', {class: 'note', text: note}),
          link && h('a', {href: `#${link.page}`, text: link.text})), content);
}

function tile(label: string, value: number, unit: 'ns' | 'percent' | 'none', more = ''): HTMLElement {
  const {number: text, unit: suffix} = quantity(value, unit);
  return h('div', {class: 'tile'}, h('div', {class: 'label', text: label}),
      h('div', {class: 'value'}, text, suffix !== '' && h('small', {text: suffix})), h('div', {class: 'more', text: more}));
}

// --- parts of the overview, also used on the questions' own pages

function kernelBars(frame: Frame, rows: number): HTMLElement | null {
  const table = tableOf(frame.report, 'top', 'kernels');
  if (!table || table.rows.length === 0) return null;
  const name = columnOf(table, 'kernel', 'name');
  const total = columnOf(table, 'total_ns');
  const calls = columnOf(table, 'calls');
  const share = columnOf(table, 'share_percent');
  const first = table.rows[0]!;
  const whole = share >= 0 && number(first[share]) > 0 ? number(first[total]) * 100 / number(first[share])
                                                       : table.rows.reduce((sum, row) => sum + number(row[total]), 0);
  return bars('Time by kernel', table.rows.slice(0, rows).map((row) => ({
    name: String(row[name]), value: number(row[total]), note: `${count(number(row[calls]))} launches`,
    open: () => frame.openRow('top', String(row[name])),
  })), whole);
}

function callBars(frame: Frame, rows: number): HTMLElement | null {
  const table = tableOf(frame.report, 'apis', 'calls');
  if (!table || table.rows.length === 0) return null;
  const name = columnOf(table, 'call', 'name');
  const total = columnOf(table, 'total_ns');
  const share = columnOf(table, 'share_percent');
  const first = table.rows[0]!;
  const whole = share >= 0 && number(first[share]) > 0 ? number(first[total]) * 100 / number(first[share])
                                                       : table.rows.reduce((sum, row) => sum + number(row[total]), 0);
  return bars('Time by call', table.rows.slice(0, rows).map((row) => ({
    name: String(row[name]), value: number(row[total]), color: '#8a93a3', open: () => frame.openRow('apis', String(row[name])),
  })), whole);
}

// Traces of several nodes count GPUs in thousands, as RPD does.
const gpuName = (gpu: number): string => gpu < 1000 ? `GPU ${gpu}` : `GPU ${gpu % 1000}, node ${Math.floor(gpu / 1000)}`;

const placeLabel = (table: Table, row: Cell[]): string => {
  const gpu = columnOf(table, 'gpu');
  const queue = columnOf(table, 'queue');
  // One process needs no name.
  const process = columnOf(table, 'pid');
  const several = process >= 0 && new Set(table.rows.map((other) => other[process])).size > 1;
  return [
    gpu >= 0 ? gpuName(number(row[gpu])) : '', queue >= 0 ? `queue ${row[queue]}` : '', several ? `process ${row[process]}` : '',
  ].filter((text) => text !== '').join(', ');
};

// Of `idle` and `overlap`: a row per GPU and state. The states of a GPU add up to the whole time.
function stateStacks(frame: Frame, question: string, id: string): Stack[] {
  const table = tableOf(frame.report, question, id);
  if (!table) return [];
  const state = columnOf(table, 'state');
  const total = columnOf(table, 'total_ns');
  const found = new Map<string, Stack>();
  for (const row of table.rows) {
    const label = placeLabel(table, row);
    if (!found.has(label)) found.set(label, {label, parts: [], open: (part) => frame.openRow(question, part)});
    const name = String(row[state]);
    found.get(label)!.parts.push({name, value: number(row[total]), color: causeColor(name)});
  }
  return [...found.values()];
}
const idleStacks = (frame: Frame): Stack[] => stateStacks(frame, 'idle', 'causes');
const overlapStacks = (frame: Frame): Stack[] => stateStacks(frame, 'overlap', 'states');

// Busy and idle of each queue, straight from `busy` where `idle` was not answered.
function busyStacks(frame: Frame): Stack[] {
  const table = tableOf(frame.report, 'busy', 'queues') ?? tableOf(frame.report, 'busy');
  if (!table) return [];
  const busy = columnOf(table, 'busy_ns');
  const wall = columnOf(table, 'wall_ns');
  if (busy < 0 || wall < 0) return [];
  return table.rows.map((row) => ({
    label: placeLabel(table, row), open: () => frame.openPage('busy'),
    parts: [{name: 'busy', value: number(row[busy]), color: BUSY},
            {name: 'idle', value: number(row[wall]) - number(row[busy]), color: causeColor('idle')}],
  }));
}

function busiest(items: Stack[], limit: number): Stack[] {
  const busy = (stack: Stack) => stack.parts.find((part) => part.name === 'busy')?.value ?? 0;
  return [...items].sort((a, b) => busy(b) - busy(a)).slice(0, limit);
}

async function busyPlot(frame: Frame): Promise<HTMLElement | null> {
  const events = await frame.events;
  const {length, tracks} = events.header;
  const gpus = [...new Set(tracks.filter((track) => track.kind === 'gpu').map((track) => track.gpu))].sort((a, b) => a - b);
  if (gpus.length === 0 || length <= 0) return null;
  const buckets = 300;
  const step = length / buckets;
  const times = Array.from({length: buckets}, (_, i) => (i + 0.5) * step);
  const series = gpus.slice(0, 6).map((gpu, g) => {
    const rows = events.rows.filter((row) => tracks[row.track]!.kind === 'gpu' && tracks[row.track]!.gpu === gpu);
    return {
      label: gpuName(gpu), color: ['#4269d0', '#3ca951', '#efb118', '#ff725c', '#a463f2', '#6cc5b0'][g]!, fill: g === 0,
      values: times.map((_, i) => Math.min(100, 100 / step * events.busyAny(rows, i * step, (i + 1) * step))),
    };
  });
  return overTime('GPU busy over time, in percent', times, series,
      {format: (value) => show(value, 'percent').replace('.0%', '%'), max: 100, end: length, zoom: frame.goTo});
}

// A line per place, of the four highest.
function linesOverTime(frame: Frame, title: string, table: Table | undefined, value: string, labelOf: (table: Table, row: Cell[]) => string,
                       format: (value: number) => string, steps?: number[]): HTMLElement | null {
  if (!table) return null;
  const time = columnOf(table, 'since_start_ns', 'at_ns');
  const height = columnOf(table, value);
  const series = new Map<string, Map<number, number>>();
  const all = new Set<number>();
  for (const row of table.rows) {
    const label = labelOf(table, row);
    if (!series.has(label)) series.set(label, new Map());
    series.get(label)!.set(number(row[time]), number(row[height]));
    all.add(number(row[time]));
  }
  const times = [...all].sort((a, b) => a - b);
  if (times.length < 2) return null;
  const colors = ['#a463f2', '#4269d0', '#3ca951', '#efb118', '#ff725c', '#6cc5b0'];
  const highest = (values: Map<number, number>) => Math.max(...values.values());
  const lines = [...series].sort((a, b) => highest(b[1]) - highest(a[1])).slice(0, 4).map(([label, values], i) => ({
    label, color: colors[i]!, values: times.map((at) => values.get(at) ?? 0), fill: i === 0,
  }));
  return overTime(title, times, lines, {format, stepped: true, end: frame.report.timeline.length, zoom: frame.goTo, steps});
}

const depthPlot = (frame: Frame): HTMLElement | null =>
    linesOverTime(frame, 'Queue depth over time', tableOf(frame.report, 'queues', 'over_time'), 'max_depth',
        (table, row) => placeLabel(table, row) || 'all queues', (value) => count(Math.round(value * 10) / 10));

const memoryPlot = (frame: Frame): HTMLElement | null =>
    linesOverTime(frame, 'Memory held over time', tableOf(frame.report, 'memory', 'over_time'), 'held_bytes',
        (_, row) => String(row[0]), (value) => show(value, 'bytes').replace(/\.0+(?= )/, ''), BYTE_STEPS);

// What the path is made of: its kinds as one ribbon, then the kernels and calls that stand on it.
function pathPlot(frame: Frame, rows: number): HTMLElement | null {
  const kinds = tableOf(frame.report, 'critical-path', 'attribution');
  if (!kinds || kinds.rows.length === 0) return null;
  const what = columnOf(kinds, 'what');
  const total = columnOf(kinds, 'total_ns');
  const whole = kinds.rows.reduce((sum, row) => sum + number(row[total]), 0);
  const ribbon = stacks('Critical path', [{
    label: 'whole path', open: (part) => frame.openRow('critical-path', part),
    parts: kinds.rows.map((row) => ({name: String(row[what]), value: number(row[total]), color: pathColor(String(row[what]))})),
  }]);
  const items = [];
  for (const [id, name, value] of [['kernels', 'name', 'path_ns'], ['calls', 'call', 'total_ns']] as const) {
    const table = tableOf(frame.report, 'critical-path', id);
    for (const row of table?.rows.slice(0, rows) ?? []) {
      const text = String(row[columnOf(table!, name)]);
      items.push({
        name: text, value: number(row[columnOf(table!, value)]), color: id === 'kernels' ? kernelColor(text) : pathColor('host'),
        open: () => frame.openRow('critical-path', text),
      });
    }
  }
  items.sort((a, b) => b.value - a.value);
  return h('div', {style: {display: 'grid', gap: '14px'}}, ribbon, items.length > 0 ? bars('On the critical path', items.slice(0, rows), whole) : null);
}

function pathColor(kind: string): string {
  if (/kernel/i.test(kind)) return BUSY;
  if (/copy|copies/i.test(kind)) return causeColor('copy');
  if (/latency|launch/i.test(kind)) return causeColor('launch latency');
  if (/waiting|sync/i.test(kind)) return causeColor('synchronization');
  if (/after another|dependency|queue/i.test(kind)) return causeColor('dependency');
  if (/program/i.test(kind)) return causeColor('outside HIP');
  if (/host|call/i.test(kind)) return '#c58fa8';
  return causeColor(kind);
}

// --- pages

// Program, CUDA layer if there is one, HIP, HSA, driver: what a call passes on its way to the GPU.
function layerChain(layers: string[]): HTMLElement[] {
  if (layers.length < 2) return [];
  const parts = layers.flatMap((layer, i) => {
    const box = h('span', {class: /^lib(nv)?cu/.test(layer) ? 'layer cuda' : 'layer', text: layer});
    return i === 0 ? [box] : [h('span', {class: 'arrow', text: '\u2192'}), box];
  });
  return [h('section', {class: 'card layers', 'aria-label': 'Layers'}, h('span', {class: 'label', text: 'To the GPU through'}), ...parts)];
}

export function overviewPage(frame: Frame): HTMLElement {
  const {report} = frame;
  const {facts} = report;
  const gpus = tableOf(report, 'busy', 'gpus');
  const kernels = tableOf(report, 'top', 'kernels');
  const tiles: HTMLElement[] = [tile('Wall time', facts.length, 'ns', `${count(report.timeline.all_events)} events`)];
  if (gpus && gpus.rows.length > 0) {
    // A rank's trace often lists all GPUs of its machine: those that it did not use are no part of a mean.
    const busy = columnOf(gpus, 'busy_percent');
    const operations = columnOf(gpus, 'operations');
    const used = gpus.rows.filter((row) => number(row[operations]) > 0);
    const spread = used.map((row) => number(row[busy]));
    const mean = spread.reduce((sum, percent) => sum + percent, 0) / Math.max(used.length, 1);
    const range = used.length === 0 ? 'no GPU did any work'
                  : used.length === 1 ? gpuName(number(used[0]![0]))
                                      : `${show(Math.min(...spread), 'percent')} to ${show(Math.max(...spread), 'percent')} of ${used.length} GPUs`;
    const others = gpus.rows.length - used.length;
    tiles.push(tile(used.length === 1 ? 'GPU busy' : 'GPUs busy, mean', mean, 'percent',
        range + (used.length > 0 && others > 0 ? `, ${count(others)} without work` : '')));
  }
  if (kernels && kernels.rows.length > 0) {
    const total = columnOf(kernels, 'total_ns');
    const calls = columnOf(kernels, 'calls');
    const sum = kernels.rows.reduce((all, row) => all + number(row[total]), 0);
    const launches = kernels.rows.reduce((all, row) => all + number(row[calls]), 0);
    tiles.push(tile('GPU work', sum, 'ns', `${count(kernels.rows.length + kernels.left_out)} ${kernels.rows.length === 1 ? 'kind' : 'kinds'} of operation`));
    tiles.push(tile('Mean operation', launches > 0 ? sum / launches : 0, 'ns', `${count(launches)} on the GPU`));
  }
  tiles.push(tile('Host calls', facts.calls, 'none', `${count(facts.processes)} ${facts.processes === 1 ? 'process' : 'processes'}`));

  const idle = idleStacks(frame);
  const stacked = idle.length > 0 ? idle : busyStacks(frame);
  const shown = busiest(stacked, 6);
  // With few kernels there is room beside the other column.
  const few = (kernels?.rows.length ?? 0) < 7;
  const path = card('Critical path', 12, pathPlot(frame, 5), 'what decides how long it takes', {text: 'Path and slack', page: 'critical-path'});
  const busyOver = h('div', {class: 'plot', style: {'min-height': '190px'}});
  void busyPlot(frame).then((plot) => plot !== null && busyOver.replaceChildren(plot));
  return h('div', {class: 'page'}, h('h1', {text: 'Overview'}), healthBox(report), findingsBox(report),
      h('section', {class: 'card tiles', 'aria-label': 'In short'}, ...tiles), ...layerChain(facts.layers),
      h('div', {class: 'columns'},
          ...[
            h('div', {class: 'span-7 side'},
                card('Time by kernel', 12, kernelBars(frame, 9), '', {text: 'All kernels', page: 'top'}),
                card('GPU busy over time', 12, busyOver, 'drag to open a span in the timeline', {text: 'Timeline', page: 'timeline'}),
                few ? path : null),
            h('div', {class: 'span-5 side'},
                card('Busy and idle', 12, shown.length > 0 ? stacks('Busy and idle', shown) : null,
                    stacked.length > shown.length ? `the ${shown.length} busiest of ${stacked.length}` : '', {text: 'Causes', page: idle.length > 0 ? 'idle' : 'busy'}),
                card('Time by host call', 12, callBars(frame, 5), '', {text: 'All calls', page: 'apis'}),
                card('Queue depth over time', 12, depthPlot(frame), '', {text: 'Queues', page: 'queues'}),
                card('Memory held over time', 12, memoryPlot(frame), '', {text: 'Memory', page: 'memory'})),
            few ? null : path,
          ].filter((part): part is HTMLElement => part !== null)));
}

function plotFor(frame: Frame, question: string): HTMLElement | null {
  if (question === 'idle' || question === 'overlap') {
    const items = question === 'idle' ? idleStacks(frame) : overlapStacks(frame);
    return items.length > 0 ? card(question === 'idle' ? 'Busy and idle by cause' : 'By activity', 12, stacks(titleOf(frame.report, question), items.slice(0, 32))) : null;
  }
  if (question === 'busy') {
    const items = busyStacks(frame);
    return items.length > 0 ? card('By queue', 12, stacks('Busy by queue', items.slice(0, 32))) : null;
  }
  if (question === 'memory') return card('Over time', 12, memoryPlot(frame), 'drag to open a span in the timeline');
  if (question === 'queues') return card('Over time', 12, depthPlot(frame), 'drag to open a span in the timeline');
  if (question === 'critical-path') return card('What the path is made of', 12, pathPlot(frame, 8));
  return null;
}

export class QuestionPage {
  readonly element: HTMLElement;
  private readonly views: TableView[] = [];

  constructor(frame: Frame, answer: Answer) {
    this.element = h('div', {class: 'page'}, h('h1', {text: answer.title}), h('p', {class: 'lead', text: answer.lead}));
    if (answer.question === 'health' || frame.report.health.length > 0) this.element.appendChild(healthBox(frame.report));
    const plot = plotFor(frame, answer.question);
    if (plot !== null) this.element.appendChild(plot);
    if (answer.notes.length > 0) this.element.appendChild(h('ul', {class: 'notes'}, ...answer.notes.map((text) => h('li', {text}))));
    for (const table of answer.tables) {
      if (table.rows.length === 0) {
        this.element.appendChild(h('section', {class: 'card'}, h('div', {class: 'title'}, h('h2', {text: table.title})),
            h('p', {class: 'empty', text: 'Nothing of this kind is in the trace.'})));
        continue;
      }
      const name = columnOf(table, 'kernel', 'call', 'range', 'name', 'operator');
      const start = columnOf(table, 'at_ns', 'since_start_ns', 'peak_at_ns', 'first_at_ns', 'oldest_at_ns');  // since the trace's begin
      const length = columnOf(table, 'idle_ns', 'piece_ns', 'length_ns', 'gap_ns');
      const view = new TableView(table, {
        swatches: columnOf(table, 'kernel') === 0,
        actions: (row) => {
          const actions = [];
          const begin = start >= 0 ? row[start] : null;
          if (typeof begin === 'number') {
            const stop = begin + (length >= 0 ? number(row[length]) : 1000);
            actions.push({label: 'Show in the timeline', run: () => frame.goTo(begin, stop)});
          }
          if (name >= 0 && typeof row[name] === 'string') {
            actions.push({label: 'Find in the timeline', run: () => frame.highlight(String(row[name]))});
          }
          return actions;
        },
      });
      this.views.push(view);
      this.element.appendChild(view.element);
    }
  }

  reveal(value: string): void {
    // A table may have to be laid out before it can scroll.
    requestAnimationFrame(() => this.views.some((view) => view.reveal(value)));
  }
}
