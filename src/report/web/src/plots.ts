// SPDX-License-Identifier: MIT
//
// Plots over time by uPlot; bars and stacks as plain elements, which can be reached by keyboard and
// read aloud, and lead to the rows they stand for.

import uPlot from 'uplot';

import {currentTheme, inkOn, kernelColor} from './colors';
import {h, midName} from './dom';
import {axisTime, brief, ns, percent} from './format';

export interface Bar {
  name: string;
  value: number;
  color?: string;
  note?: string;
  open: () => void;
}

export function bars(label: string, items: Bar[], total: number): HTMLElement {
  const most = Math.max(...items.map((item) => item.value), 1);
  const list = h('div', {class: 'bars', role: 'list', 'aria-label': label});
  for (const item of items) {
    list.appendChild(h('div', {role: 'listitem'}, h('button', {
      class: 'bar', type: 'button', title: item.note ? `${item.name}\n${item.note}` : item.name, on: {click: item.open},
      'aria-label': `${item.name}: ${ns(item.value)}, ${percent(item.value, total)}`,
    },
        h('span', {class: 'what'}, h('span', {class: 'name'}, midName(brief(item.name))),
            h('span', {class: 'meter'}, h('i', {style: {width: `${100 * item.value / most}%`, background: item.color ?? kernelColor(item.name)}}))),
        h('span', {class: 'number', text: ns(item.value)}), h('span', {class: 'share', text: percent(item.value, total)}))));
  }
  return list;
}

export interface Part {
  name: string;
  value: number;
  color: string;
}

export interface Stack {
  label: string;
  parts: Part[];
  open: (part: string) => void;
}

export function stacks(label: string, items: Stack[], withLegend = true): HTMLElement {
  const element = h('div', {class: 'stacks', role: 'group', 'aria-label': label});
  const sums = new Map<string, Part>();
  for (const item of items) {
    const total = item.parts.reduce((sum, part) => sum + part.value, 0);
    const ribbon = h('div', {class: 'ribbon'});
    for (const part of item.parts) {
      const sum = sums.get(part.name);
      if (sum) sum.value += part.value;
      else sums.set(part.name, {...part});
      const share = total > 0 ? part.value / total : 0;
      if (share < 0.0005) continue;
      const text = `${part.name}: ${ns(part.value)}, ${percent(part.value, total)}`;
      ribbon.appendChild(h('button', {
        type: 'button', title: text, 'aria-label': `${item.label}: ${text}`,
        style: {'flex-grow': String(share), background: part.color, color: inkOn(part.color)}, on: {click: () => item.open(part.name)},
      }, h('span', {text: percent(part.value, total)})));
    }
    element.appendChild(h('div', {class: 'stack'}, h('span', {class: 'label', text: item.label, title: item.label}), ribbon));
  }
  const box = h('div', {}, element);
  if (withLegend) {
    const whole = [...sums.values()].reduce((sum, part) => sum + part.value, 0);
    box.appendChild(h('div', {class: 'legend'}, ...[...sums.values()].filter((part) => part.value >= 0.0005 * whole && part.value > 0).map((part) =>
        h('span', {}, h('i', {class: 'swatch', style: {background: part.color}}), `${part.name} ${percent(part.value, whole)}`))));
  }
  return box;
}

// 1, 2 and 5 times the powers of ten: axes of time count in them.
const STEPS = Array.from({length: 16}, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();

// Axes of bytes count in powers of two.
export const BYTE_STEPS = Array.from({length: 50}, (_, power) => 2 ** power);

export interface Series {
  label: string;
  color: string;
  values: (number | null)[];
  fill?: boolean;
}

// Values over time. Dragging chooses a span, which `zoom` is told.
export function overTime(label: string, times: number[], series: Series[], options: {
  format: (value: number) => string; max?: number; end?: number; stepped?: boolean; height?: number; zoom?: (begin: number, end: number) => void;
  steps?: number[];  // between the lines of the y axis
}): HTMLElement {
  const readout = h('div', {class: 'readout'});
  const element = h('div', {class: 'plot', role: 'img', 'aria-label': label}, readout);
  let plot: uPlot | null = null;
  const make = () => {
    const theme = currentTheme();
    plot?.destroy();
    const paths = options.stepped ? uPlot.paths.stepped!({align: 1}) : undefined;
    plot = new uPlot({
      width: Math.max(element.clientWidth, 100),
      height: options.height ?? 190,
      cursor: {points: {size: 6}, drag: {x: true, y: false, setScale: false}},
      legend: {show: false},
      scales: {x: {time: false, range: (_, low, high) => [0, Math.max(high, options.end ?? high)]}, y: {range: (_, __, most) => [0, options.max ?? Math.max(most * 1.08, 1)]}},
      axes: [
        {
          stroke: theme.muted, font: '11px "Report Sans"', grid: {show: false}, ticks: {stroke: theme.line, size: 4}, space: 90, size: 30, incrs: STEPS,
          values: (_, splits) => splits.map((value) => axisTime(value, (splits[1] ?? 1) - (splits[0] ?? 0) || 1)),
        },
        {
          stroke: theme.muted, font: '11px "Report Sans"', grid: {stroke: theme.grid, width: 1}, ticks: {show: false}, size: 62, space: 34,
          ...(options.steps && {incrs: options.steps}),
          values: (_, splits) => splits.map(options.format),
        },
      ],
      series: [{}, ...series.map((one): uPlot.Series => ({
        label: one.label, stroke: one.color, width: 1.25, fill: one.fill === true ? `${one.color}30` : undefined,
        points: {show: false}, paths,
      }))],
      hooks: {
        setCursor: [(self) => {
          const at = self.cursor.idx;
          readout.textContent = at === null || at === undefined ? '' : `${ns(times[at]!)}: ` +
              series.map((one) => `${series.length > 1 ? `${one.label} ` : ''}${one.values[at] === null ? '–' : options.format(one.values[at]!)}`).join(', ');
        }],
        setSelect: [(self) => {
          if (self.select.width < 3) return;
          options.zoom?.(self.posToVal(self.select.left, 'x'), self.posToVal(self.select.left + self.select.width, 'x'));
          self.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
        }],
      },
    }, [times, ...series.map((one) => one.values)] as uPlot.AlignedData, element);
  };
  let last = 0;
  new ResizeObserver(() => {
    if (element.clientWidth === 0 || element.clientWidth === last) return;
    last = element.clientWidth;
    if (plot === null) make();
    else plot.setSize({width: last, height: options.height ?? 190});
  }).observe(element);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plot !== null && setTimeout(make));
  const legend = series.length > 1 ? h('div', {class: 'legend'}, ...series.map((one) =>
      h('span', {}, h('i', {class: 'swatch', style: {background: one.color}}), one.label))) : null;
  return h('div', {}, element, legend);
}
