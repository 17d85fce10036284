// SPDX-License-Identifier: MIT
//
// The roofline of `rochound profile`: operations per second against operations per byte, both
// logarithmic. The picture has the roofs and the kernels, the table below has their figures, and
// what is chosen in one is told about beside it. Fields are those of docs/formats/profile.md.

import {kernelColor} from './colors';
import type {Cell, Table} from './data';
import {h, svg} from './dom';
import {brief, count, middle, ns, show} from './format';
import {TableView} from './table';
import {hideTip, showTip} from './tip';

export interface Roof {
  bytes_per_second: number;
  source: string;
  measured?: boolean;
  from_table?: number | null;
}

export interface RooflineKernel {
  kernel: string;
  name: string;
  grid: number[];
  workgroup: number[];
  launches: number;
  operations: Record<string, number>;
  bytes: {compulsory: number; requested: number; uncached: number} | null;
  modelled_bytes?: {to_l2: number; beyond_l2: number; memory: number} | null;
  measured?: {seconds: number | null; memory_bytes: number | null; l2_bytes: number | null} | null;
  operations_per_byte?: {most: number; least: number} | null;
  compute_seconds_least: number | null;
  memory_seconds_least: number | null;
  verdict: string;
  reasons: string[];
  modelled_seconds?: number;  // by a model of cycles; then it is there, and not where it could be at best
}

export interface Roofline {
  source: string;
  warnings: string[];
  device: {name: string; target: string};
  peaks: {operations: Record<string, {per_second: number; source: string; measured?: boolean; from_table?: number | null}>; memory: Roof | null; caches?: Record<string, Roof>};
  kernels: RooflineKernel[];
}

export interface KernelAnalysis {
  kernel: string;
  grid: number[];
  workgroup: number[];
  time_ms: number | null;
  bottleneck: {primary: string; confidence: number; reasoning: string[]; would_change: string[]};
}

export interface Analysis {
  warnings: string[];
  kernels: KernelAnalysis[];
}

const LEVELS: Record<string, string> = {lds: 'LDS', l1: 'L1', l2: 'L2', mall: 'MALL'};
const WIDTH = 1000, HEIGHT = 520;
const LEFT = 70, RIGHT = 985, TOP = 26, BOTTOM = 470;
const MOST_DRAWN = 400;  // kernels; all are in the table
const LINE = 15, LETTER = 6.8;

interface Point {
  kernel: RooflineKernel;
  most: number;   // operations per byte: at best, or of the bytes that were moved
  least: number;  // without caches
  rate: number;   // operations per second, in those times
  seconds: number;
  times: Times;
}

// What the times of a picture are.
type Times = 'at best' | 'measured' | 'modelled';

const sum = (values: Record<string, number>): number => Object.values(values).reduce((all, value) => all + value, 0);
const shape = (sizes: number[]): string => sizes.join('×');
const short = (value: number): string => {
  for (const [size, unit] of [[1e15, ' P'], [1e12, ' T'], [1e9, ' G'], [1e6, ' M'], [1e3, ' k']] as const) {
    if (value >= size) return `${Number((value / size).toPrecision(4))}${unit}`;
  }
  return String(Number(value.toPrecision(4)));
};

// The bytes that a kernel is placed by: those that must be moved, or that were.
const bytesOf = (kernel: RooflineKernel): number | null => kernel.bytes?.compulsory ?? kernel.measured?.memory_bytes ?? null;

function pointOf(kernel: RooflineKernel): Point | null {
  const operations = sum(kernel.operations);
  const bytes = bytesOf(kernel);
  if (bytes === null || kernel.compute_seconds_least === null || kernel.memory_seconds_least === null) return null;
  const took = kernel.modelled_seconds ?? kernel.measured?.seconds ?? null;
  const seconds = took !== null && took > 0 ? took : Math.max(kernel.compute_seconds_least, kernel.memory_seconds_least);
  const times = took === null ? 'at best' : kernel.modelled_seconds === undefined ? 'measured' : 'modelled';
  if (!(operations > 0 && seconds > 0 && bytes > 0)) return null;
  return {kernel, most: operations / bytes, least: operations / (kernel.bytes?.uncached ?? bytes), rate: operations / seconds, seconds, times};
}

// What else is known of a roof.
const sourcesOf = (roof: {source: string; measured?: boolean; from_table?: number | null}): string[] =>
    roof.measured && typeof roof.from_table === 'number' ? [roof.source, `from the table: ${short(roof.from_table)}/s`] : [roof.source];

// Powers of ten on both axes.
class Axis {
  constructor(readonly from: number, readonly to: number, private readonly begin: number, private readonly end: number) {}
  at(value: number): number {
    const part = (Math.log10(value) - this.from) / (this.to - this.from);
    return this.begin + Math.max(0, Math.min(1, part)) * (this.end - this.begin);
  }
  powers(): number[] {
    return Array.from({length: this.to - this.from + 1}, (_, i) => this.from + i);
  }
}

// Finds room for names; those that come first have it.
class Places {
  private readonly taken: [number, number, number, number][] = [];
  take(x: number, y: number, toRight: boolean, text: string): boolean {
    const width = LETTER * text.length;
    const [left, right] = toRight ? [x, x + width] : [x - width, x];
    if (left < LEFT || right > WIDTH || y - LINE < TOP || y > BOTTOM) return false;
    if (this.taken.some(([l, r, t, b]) => left < r && l < right && y - LINE < b && t < y)) return false;
    this.taken.push([left, right, y - LINE, y]);
    return true;
  }
}

export class RooflinePage {
  readonly element: HTMLElement;
  private readonly details = h('section', {class: 'card kernel-details', 'aria-live': 'polite', 'aria-label': 'Kernel'});
  private readonly drawn = new Map<RooflineKernel, Element>();
  private readonly times: Times;

  // Kernels with modelled seconds are a part of another page, and have no title.
  constructor(private readonly roofline: Roofline, private readonly analysis: Analysis | null, highlight: (name: string) => void) {
    this.times = roofline.kernels.some((kernel) => kernel.modelled_seconds !== undefined) ? 'modelled'
        : roofline.kernels.some((kernel) => kernel.measured) ? 'measured' : 'at best';
    const warnings = [...new Set([...roofline.warnings, ...(analysis?.warnings ?? [])])];
    const about = {
      'measured': 'Each kernel stands where its launches were measured: operations, bytes between L2 and memory, and the time that they took.',
      'modelled': 'Each launch stands where the modelled cycles put it, which is no measurement.',
      'at best': 'Each kernel stands where it can be at best: times here are the least that the GPU can take, computed from counts and peaks, not measured.',
    }[this.times];
    const lead = h('p', {class: 'lead', text: `${roofline.device.name} (${roofline.device.target}), by ${roofline.source}. ${about}`});
    this.element = this.times === 'modelled' ? h('div', {class: 'page part'}, lead) : h('div', {class: 'page'}, h('h1', {text: 'Roofline'}), lead);
    if (warnings.length > 0) {
      this.element.appendChild(h('section', {class: 'health', 'aria-label': 'Doubts of the profile'},
          h('h2', {text: 'Read this first'}), h('ul', {}, ...warnings.map((text) => h('li', {text})))));
    }
    const points = roofline.kernels.map(pointOf).filter((point): point is Point => point !== null).sort((a, b) => b.seconds - a.seconds);
    const missing = roofline.kernels.length - Math.min(points.length, MOST_DRAWN);
    this.element.appendChild(h('section', {class: 'card', 'aria-label': 'Roofline'},
        h('div', {class: 'title'}, h('h2', {text: {'measured': 'Operations per second', 'modelled': 'Roofline, before and after', 'at best': 'Operations per second, at best'}[this.times]}),
            h('span', {class: 'note', text: 'larger: takes longer' + (this.times === 'measured' ? '' : ' · dashes lead to where it would be without caches') +
                (roofline.kernels.some((kernel) => kernel.modelled_bytes) ? ' · a bar stands where the modelled caches put it' : '')})),
        points.length > 0 ? this.picture(points.slice(0, MOST_DRAWN)) : h('p', {class: 'empty', text: 'No kernel can be drawn; the table says what is known.'}),
        missing > 0 && h('p', {class: 'notes', text: `Not drawn: ${count(missing)} ${missing === 1 ? 'kernel' : 'kernels'} without floating-point ` +
            'operations, with types whose peak is not known, or too short to be seen.'})));
    this.element.appendChild(this.details);
    const view = new TableView(this.table(), {
      swatches: true,
      chosen: (row) => this.choose(roofline.kernels[Number(row[row.length - 1])]!),
      actions: (row) => [{label: 'Find in the timeline', run: () => highlight(String(row[0]))}],
      hidden: 1,
    });
    this.element.appendChild(view.element);
    if (roofline.kernels.length > 0) this.choose(points[0]?.kernel ?? roofline.kernels[0]!);
  }

  private analysisOf(kernel: RooflineKernel): KernelAnalysis | undefined {
    const same = (a: number[], b: number[]) => shape(a) === shape(b);
    return this.analysis?.kernels.find((one) =>
        one.kernel === kernel.kernel && same(one.grid, kernel.grid) && same(one.workgroup, kernel.workgroup));
  }

  private table(): Table {
    const {kernels} = this.roofline;
    return {
      id: 'roofline', title: 'Kernels and shapes', left_out: 0,
      columns: [
        {name: 'kernel', unit: 'none'}, {name: 'grid', unit: 'none'}, {name: 'workgroup', unit: 'none'}, {name: 'launches', unit: 'none'},
        {name: 'roofline', unit: 'none'}, {name: 'limit', unit: 'none'}, {name: 'operations', unit: 'none'}, {name: this.times === 'measured' ? 'moved_bytes' : 'must_move_bytes', unit: 'bytes'},
        {name: 'operations per byte', unit: 'none'}, {name: this.times === 'modelled' ? 'modelled_ns' : 'at_best_ns', unit: 'ns'}, {name: 'place', unit: 'id'},
      ],
      rows: kernels.map((kernel, place): Cell[] => {
        const operations = sum(kernel.operations);
        const seconds = kernel.modelled_seconds ?? Math.max(kernel.compute_seconds_least ?? 0, kernel.memory_seconds_least ?? 0);
        return [
          kernel.name, shape(kernel.grid), shape(kernel.workgroup), kernel.launches, kernel.verdict, this.analysisOf(kernel)?.bottleneck.primary ?? null,
          operations, bytesOf(kernel), kernel.operations_per_byte?.most ?? null,
          kernel.compute_seconds_least === null && kernel.memory_seconds_least === null ? null : 1e9 * seconds, place,
        ];
      }),
    };
  }

  private picture(points: Point[]): HTMLElement {
    const {peaks} = this.roofline;
    const types = [...new Set(points.flatMap(({kernel}) => Object.keys(kernel.operations)))].filter((type) => peaks.operations[type] !== undefined).sort();
    const bandwidth = peaks.memory?.bytes_per_second ?? 0;
    const fastest = Math.max(...types.map((type) => peaks.operations[type]!.per_second));
    const least = Math.min(0.01, ...points.map((point) => point.least));
    const slowest = Math.min(...points.map((point) => point.rate), least * bandwidth);
    const x = new Axis(Math.floor(Math.log10(least)), Math.ceil(Math.log10(Math.max(1000, ...points.map((point) => point.most)))), LEFT, RIGHT);
    const y = new Axis(Math.floor(Math.log10(slowest)), Math.ceil(Math.log10(fastest * 1.01)), BOTTOM, TOP);
    const picture = svg('svg', {class: 'roofline', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'group', 'aria-label': 'Roofline, logarithmic'});
    const text = (at: number, height: number, anchor: string, what: string, kind = '') =>
        svg('text', {x: at.toFixed(1), y: height.toFixed(1), 'text-anchor': anchor, class: kind}, what);
    for (const power of x.powers()) {
      const at = x.at(10 ** power).toFixed(1);
      picture.append(svg('path', {class: 'grid-line', d: `M${at} ${TOP}V${BOTTOM}`}), text(Number(at), BOTTOM + 18, 'middle', String(10 ** power), 'tick'));
    }
    for (const power of y.powers()) {
      const at = y.at(10 ** power);
      picture.append(svg('path', {class: 'grid-line', d: `M${LEFT} ${at.toFixed(1)}H${RIGHT}`}), text(LEFT - 6, at + 4, 'end', short(10 ** power), 'tick'));
    }
    picture.append(text((LEFT + RIGHT) / 2, BOTTOM + 40, 'middle', 'operations per byte', 'tick'), text(LEFT, TOP - 10, 'start', 'operations per second', 'tick'));

    const hover = (element: Element, title: string, lines: string[]) => {
      element.addEventListener('pointermove', (event) => showTip((event as PointerEvent).clientX, (event as PointerEvent).clientY, title, lines));
      element.addEventListener('pointerleave', hideTip);
    };
    const roof = (d: string, kind: string, title: string, lines: string[]) => {
      const hit = svg('path', {class: 'hit', d});  // a thin line is hard to point at
      hover(hit, title, lines);
      picture.append(svg('path', {class: kind, d}), hit);
    };
    const places = new Places();
    const names: Element[] = [];
    if (peaks.memory !== null && bandwidth > 0) {
      const from = Math.max(10 ** x.from, 10 ** y.from / bandwidth);
      const to = Math.min(10 ** x.to, fastest / bandwidth);
      const [x0, y0, x1, y1] = [x.at(from), y.at(from * bandwidth), x.at(to), y.at(to * bandwidth)];
      roof(`M${x0.toFixed(1)} ${y0.toFixed(1)}L${x1.toFixed(1)} ${y1.toFixed(1)}`, 'roof memory', `Memory: ${show(bandwidth, 'bytes_per_second')}`, sourcesOf(peaks.memory));
      // Along the lower end of its line, where few kernels are.
      const slope = Math.atan2(y1 - y0, x1 - x0) * 180 / Math.PI;
      names.push(svg('text', {class: 'roof-name memory', transform: `translate(${(x0 + 14).toFixed(1)} ${(y0 - 18).toFixed(1)}) rotate(${slope.toFixed(1)})`},
          `memory ${show(bandwidth, 'bytes_per_second')}`));
    }
    // Roofs of caches, above that of memory.
    for (const [level, cache] of Object.entries(peaks.caches ?? {})) {
      const speed = cache.bytes_per_second;
      if (!(speed > bandwidth)) continue;
      const from = Math.max(10 ** x.from, 10 ** y.from / speed);
      const to = Math.min(10 ** x.to, fastest / speed);
      if (!(to > from)) continue;
      const title = `${LEVELS[level] ?? level}: ${show(speed, 'bytes_per_second')}`;
      const [x0, y0, x1, y1] = [x.at(from), y.at(from * speed), x.at(to), y.at(to * speed)];
      roof(`M${x0.toFixed(1)} ${y0.toFixed(1)}L${x1.toFixed(1)} ${y1.toFixed(1)}`, 'roof cache', title, sourcesOf(cache));
      const slope = Math.atan2(y1 - y0, x1 - x0) * 180 / Math.PI;
      names.push(svg('text', {class: 'roof-name memory', transform: `translate(${(x0 + 150).toFixed(1)} ${(y0 + 150 * (y1 - y0) / (x1 - x0) - 6).toFixed(1)}) rotate(${slope.toFixed(1)})`}, title));
    }
    const byPeak = new Map<number, string[]>();
    for (const type of types) {
      const peak = peaks.operations[type]!.per_second;
      byPeak.set(peak, [...(byPeak.get(peak) ?? []), type]);
    }
    for (const [peak, those] of byPeak) {
      const from = bandwidth > 0 ? peak / bandwidth : 10 ** x.from;
      roof(`M${x.at(from).toFixed(1)} ${y.at(peak).toFixed(1)}H${RIGHT}`, 'roof', `${those.join(', ')}: ${short(peak)} operations/s`,
          those.flatMap((type) => sourcesOf(peaks.operations[type]!)));
      const label = `${those.join(', ')} ${short(peak)}/s`;
      places.take(RIGHT, y.at(peak) - 5, false, label);
      names.push(text(RIGHT, y.at(peak) - 5, 'end', label, 'roof-name'));
    }
    const all = points.reduce((total, point) => total + point.seconds, 0);
    for (const point of points) {
      const {kernel} = point;
      const height = y.at(point.rate);
      const radius = 5 + 14 * Math.sqrt(point.seconds / all);
      const limit = this.analysisOf(kernel)?.bottleneck.primary;
      const group = svg('g', {
        class: 'kernel', tabindex: '0', role: 'button', 'data-kernel': kernel.kernel,
        'aria-label': `${kernel.name}: ${kernel.verdict}, ${short(point.most)} operations per byte, ${short(point.rate)} operations per second${point.times === 'measured' ? '' : `, ${point.times}`}`,
      }, svg('path', {class: 'without-caches', d: `M${x.at(point.least).toFixed(1)} ${height.toFixed(1)}H${x.at(point.most).toFixed(1)}`}),
      svg('circle', {cx: x.at(point.most).toFixed(1), cy: height.toFixed(1), r: radius.toFixed(1), fill: kernelColor(kernel.name)}));
      const modelled = kernel.modelled_bytes && kernel.modelled_bytes.memory > 0 ? sum(kernel.operations) / kernel.modelled_bytes.memory : null;
      if (modelled !== null) {
        group.append(svg('path', {class: 'modelled-caches', d: `M${x.at(modelled).toFixed(1)} ${(height - radius - 3).toFixed(1)}v${(2 * radius + 6).toFixed(1)}`}));
      }
      hover(group, kernel.name, [
        `roofline: ${kernel.verdict}${limit === undefined ? '' : `; limit: ${limit}`}`,
        point.times === 'measured' ? `${short(point.most)} operations per byte` : `${short(point.most)} operations per byte at best, ${short(point.least)} without caches`,
        ...(modelled === null ? [] : [`${short(modelled)} operations per byte with the modelled caches`]),
        `${short(point.rate)} operations/s${point.times === 'measured' ? '' : `, ${point.times}`}; ${point.times === 'at best' ? 'at least ' : ''}${ns(1e9 * point.seconds)} in ${count(kernel.launches)} ${kernel.launches === 1 ? 'launch' : 'launches'}`,
        `grid ${shape(kernel.grid)}, workgroup ${shape(kernel.workgroup)}`,
      ]);
      group.addEventListener('click', () => this.choose(kernel));
      group.addEventListener('keydown', (event) => {
        const {key} = event as KeyboardEvent;
        if (key !== 'Enter' && key !== ' ') return;
        event.preventDefault();
        this.choose(kernel);
      });
      this.drawn.set(kernel, group);
      picture.append(group);
      const name = this.nameNear(places, x.at(point.most), height, radius, middle(brief(kernel.name), 34));
      if (name !== null) names.push(...name);
    }
    picture.append(...names);
    return h('div', {class: 'roofline-box'}, picture);
  }

  private nameNear(places: Places, x: number, y: number, radius: number, name: string): Element[] | null {
    for (let step = 0; step < 8; ++step) {
      for (const side of [1, -1]) {
        const atX = x + side * (radius + 4 + 4 * step);
        const atY = y + side * LINE * step + 4;
        if (!places.take(atX, atY, side > 0, name)) continue;
        const label = svg('text', {x: atX.toFixed(1), y: atY.toFixed(1), 'text-anchor': side > 0 ? 'start' : 'end', class: 'kernel-name'}, name);
        if (step === 0) return [label];
        return [svg('path', {class: 'leader', d: `M${x.toFixed(1)} ${y.toFixed(1)}L${(atX - side * 2).toFixed(1)} ${(atY - 4).toFixed(1)}`}), label];
      }
    }
    return null;
  }

  private choose(kernel: RooflineKernel): void {
    for (const [other, element] of this.drawn) element.setAttribute('aria-pressed', String(other === kernel));
    const analysis = this.analysisOf(kernel);
    const list = (title: string, lines: string[]) =>
        lines.length > 0 && h('div', {}, h('h3', {text: title}), h('ul', {}, ...lines.map((text) => h('li', {text}))));
    const verdict = analysis === undefined ? kernel.verdict
        : `limit: ${analysis.bottleneck.primary} (confidence ${analysis.bottleneck.confidence.toFixed(2)}); roofline: ${kernel.verdict}`;
    this.details.replaceChildren(
        h('div', {class: 'title'}, h('h2', {text: kernel.name}), h('span', {class: 'note', text: `grid ${shape(kernel.grid)}, workgroup ${shape(kernel.workgroup)}, ` +
            `${count(kernel.launches)} ${kernel.launches === 1 ? 'launch' : 'launches'}`})),
        h('p', {class: 'verdict', text: verdict}),
        h('div', {class: 'lists'}, ...[
          list('By the roofline', kernel.reasons), list('Why', analysis?.bottleneck.reasoning ?? []), list('What would change it', analysis?.bottleneck.would_change ?? []),
        ].filter((part): part is HTMLDivElement => part !== false)));
  }
}
