// SPDX-License-Identifier: MIT
//
// Numbers for people: three or four significant digits and a unit.

import type {Cell, Column, Unit} from './data';

export interface Quantity {
  number: string;
  unit: string;
}

function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

function scaled(value: number, steps: [number, string][]): Quantity {
  const size = Math.abs(value);
  for (const [step, unit] of steps) {
    if (size >= step) return {number: digits(value / step), unit};
  }
  const [step, unit] = steps[steps.length - 1]!;
  return {number: digits(value / step), unit};
}

export function quantity(value: number, unit: Unit): Quantity {
  switch (unit) {
    case 'ns':
    case 'time':
      if (value === 0) return {number: '0', unit: 'ns'};
      if (Math.abs(value) < 1000) {
        return {number: Number.isInteger(value) ? String(value) : value.toFixed(1), unit: 'ns'};
      }
      return scaled(value, [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs']]);
    case 'bytes':
      if (Math.abs(value) < 1024) return {number: digits(value).replace(/\.000$/, ''), unit: 'B'};
      return scaled(value, [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']]);
    case 'bytes_per_second':
      return scaled(value, [[1e12, 'TB/s'], [1e9, 'GB/s'], [1e6, 'MB/s'], [1e3, 'kB/s'], [1, 'B/s']]);
    case 'per_second':
      return scaled(value, [[1e9, 'G/s'], [1e6, 'M/s'], [1e3, 'k/s'], [1, '/s']]);
    case 'percent':
      return {number: value.toFixed(Math.abs(value) >= 99.95 ? 0 : 1), unit: '%'};
    case 'ratio':
      return {number: value.toFixed(3), unit: '×'};
    case 'id':
      return {number: String(value), unit: ''};
    default:
      return {number: Number.isInteger(value) ? value.toLocaleString('en-US') : digits(value), unit: ''};
  }
}

export function show(value: number, unit: Unit): string {
  const {number, unit: suffix} = quantity(value, unit);
  return suffix === '' ? number : suffix === '%' || suffix === '×' ? number + suffix : `${number} ${suffix}`;
}

export const ns = (value: number): string => show(value, 'ns');
export const count = (value: number): string => value.toLocaleString('en-US');
export const percent = (part: number, whole: number): string => whole > 0 ? show(100 * part / whole, 'percent') : '–';

export function cellText(cell: Cell, unit: Unit): string {
  if (cell === null) return '–';
  return typeof cell === 'number' ? show(cell, unit) : cell;
}

// Long names keep both ends: a template's name is in front, what tells instances apart after.
export function middle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const front = Math.ceil((limit - 1) * 0.6);
  return `${text.slice(0, front)}…${text.slice(text.length - (limit - 1 - front))}`;
}

// What tells one kernel from another: its name and template arguments, without `void` and without the
// parameters. The whole name is shown wherever there is room for it, and in every title.
const briefs = new Map<string, string>();
export function brief(name: string): string {
  if (name.length <= 28) return name;
  let found = briefs.get(name);
  if (found === undefined) briefs.set(name, found = shorten(name));
  return found;
}

function shorten(name: string): string {
  const text = name.replace(/^void /, '').replace(/( \[clone .*\]|\.kd)$/, '');
  if (!text.endsWith(')')) return text;
  for (let at = text.length - 1, depth = 0; at > 0; --at) {
    if (text[at] === ')') ++depth;
    if (text[at] === '(' && --depth === 0) return text.slice(0, at).trimEnd() || text;
  }
  return text;
}

// The same for a canvas, by width. Names are measured once.
const widths = new Map<string, number>();
export function fitText(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (width < 20) return '';
  let whole = widths.get(text);
  if (whole === undefined) widths.set(text, whole = context.measureText(text).width);
  if (whole <= width) return text;
  const limit = Math.floor(0.94 * text.length * width / whole);
  return limit < 4 ? '' : middle(text, limit);
}

// A column without the unit in its name; cells say their unit.
export function columnTitle(column: Column): string {
  const plain = column.unit === 'none' ? column.name : column.name.replace(/_(ns|bytes|percent|bytes_per_s)$/, '');
  return plain.replace(/_/g, ' ') + (column.unit === 'percent' ? ' %' : '');
}

// A point in time, to the nanosecond.
export function exact(time: number): string {
  const [whole, part] = (time / 1e6).toFixed(6).split('.');
  return `${Number(whole).toLocaleString('en-US')}.${part!.slice(0, 3)}\u2009${part!.slice(3)} ms`;
}

// Steps of 1, 2 or 5 times a power of ten for axes of time.
export function niceStep(raw: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1e-9)));
  const rest = raw / power;
  return (rest <= 1 ? 1 : rest <= 2 ? 2 : rest <= 5 ? 5 : 10) * power;
}

// A time on an axis whose ticks are `step` apart: as many digits as tell ticks apart.
export function axisTime(value: number, step: number): string {
  const [size, unit] = step >= 1e8 || Math.abs(value) >= 1e10 ? [1e9, 's'] as const
                       : Math.abs(value) >= 1e6 || step >= 1e5 ? [1e6, 'ms'] as const
                       : Math.abs(value) >= 1e3 || step >= 1e2 ? [1e3, 'µs'] as const
                                                               : [1, 'ns'] as const;
  if (value === 0) return '0';
  const places = Math.max(0, Math.min(9, Math.ceil(Math.log10(size / step))));
  return `${(value / size).toFixed(places)} ${unit}`;
}
