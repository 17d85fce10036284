// SPDX-License-Identifier: MIT
//
// One colour per name, the same in plots, tables and timeline. The kernels that take the most time
// get the colours that are easiest to tell apart; calls are coloured by what they are for.

const STRONG = ['#4269d0', '#efb118', '#ff725c', '#3ca951', '#a463f2', '#6cc5b0', '#ff8ab7', '#97bbf5', '#9c6b4e'];
const QUIET = ['#8fa3c9', '#d9c48f', '#d9a79f', '#9dbf9f', '#b9a6d3', '#a5c9c1', '#d3adc0', '#b3c3dd', '#b8a596', '#a9adb5'];

export const BUSY = '#4269d0';
export const COPY = '#6cc5b0';

const CALLS: [RegExp, string][] = [
  [/^(hip|hsa|cuda|cu)\w*launch/i, '#7d93c8'],
  [/memcpy|memset|copy|prefetch/i, '#7fbfb0'],
  [/sync|wait|query/i, '#e0a458'],
  [/malloc|free|alloc|register|host/i, '#c58fa8'],
  [/^(hip|hsa|cuda|cu)[A-Z_]/, '#a3a9b4'],
];
const MARKS = ['#a98bd6', '#8f9fdc', '#bf94cc', '#86b0cf', '#b3a0e0', '#98bfa5'];

const CAUSES: Record<string, string> = {
  'busy': BUSY,
  'outside hip': '#ff8b6b',
  'other hip call': '#d9a79f',
  'synchronization': '#efb118',
  'launch latency': '#c79bf2',
  'kernel too short': '#ff8ab7',
  'dependency': '#97bbf5',
  'host function': '#9c6b4e',
  'one-time code loading': '#a5c9c1',
  'one-time initialisation': '#cfdcd9',
  'unknown launch': '#b8bcc4',
  'idle': '#d5d8de',
  'compute': BUSY,
  'copy': '#3ca951',
  'communication': '#efb118',
};

function hash(text: string): number {
  let value = 2166136261;
  for (let i = 0; i < text.length; ++i) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  return value >>> 0;
}

const ranked = new Map<string, string>();

// The names that deserve strong colours, most important first.
export function rankNames(names: string[]): void {
  names.slice(0, STRONG.length).forEach((name, i) => ranked.set(name, STRONG[i]!));
}

export function kernelColor(name: string): string {
  return ranked.get(name) ?? QUIET[hash(name) % QUIET.length]!;
}

export function callColor(name: string): string {
  for (const [pattern, color] of CALLS) {
    if (pattern.test(name)) return color;
  }
  return MARKS[hash(name) % MARKS.length]!;
}

export function causeColor(cause: string, place = 0): string {
  const known = CAUSES[cause.toLowerCase()];
  if (known !== undefined) return known;
  const parts = cause.toLowerCase().split(/\s*[+,&]\s*/);
  if (parts.length > 1) return STRONG[(hash(cause) + place) % STRONG.length]!;
  return ranked.get(cause) ?? QUIET[hash(cause) % QUIET.length]!;
}

// Dark or light text, whichever can be read on this colour.
const inks = new Map<string, string>();
export function inkOn(color: string): string {
  let ink = inks.get(color);
  if (ink === undefined) {
    const part = (from: number) => {
      const value = parseInt(color.slice(from, from + 2), 16) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    };
    const light = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
    ink = light > 0.2 ? '#14171c' : '#ffffff';
    inks.set(color, ink);
  }
  return ink;
}

// Colours of the page itself, for canvases.
export interface Theme {
  ink: string;
  muted: string;
  faint: string;
  line: string;
  grid: string;
  surface: string;
  sunken: string;
  accent: string;
}

let theme: Theme | null = null;
export function currentTheme(): Theme {
  if (theme === null) {
    const style = getComputedStyle(document.documentElement);
    const get = (name: string) => style.getPropertyValue(`--${name}`).trim();
    theme = {
      ink: get('ink'), muted: get('muted'), faint: get('faint'), line: get('line'), grid: get('grid'),
      surface: get('surface'), sunken: get('sunken'), accent: get('accent'),
    };
  }
  return theme;
}

export function onThemeChange(listener: () => void): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    theme = null;
    listener();
  });
}
