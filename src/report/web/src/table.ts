// SPDX-License-Identifier: MIT
//
// A table of any length: only the rows in sight are in the document. Sorted by its headers, filtered
// by words, moved through by arrow keys.

import type {Cell, Column, Table} from './data';
import {button, clear, h, midName, setStyle} from './dom';
import {brief, cellText, columnTitle, count, quantity} from './format';
import {kernelColor} from './colors';

const ROW = 30;
const HEAD = 41;
const NAMES = /^(kernel|name|before|after|collective)$/;  // columns whose texts are names of kernels

export interface TableHooks {
  // What can be done with a row: shown as buttons below the table when it is chosen.
  actions?: (row: Cell[]) => {label: string; run: () => void}[];
  swatches?: boolean;
  chosen?: (row: Cell[]) => void;
  hidden?: number;  // so many columns at the end are for the hooks alone
}

export class TableView {
  readonly element: HTMLElement;
  private readonly grid: HTMLElement;
  private readonly body: HTMLElement;
  private readonly shown: HTMLElement;
  private readonly card: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly headers: HTMLElement[] = [];
  private readonly numeric: boolean[];
  private readonly largest: number[];
  private readonly columns: Column[];
  private readonly texts: string[];  // each row's words, small letters
  private readonly template: string;
  private order: Uint32Array;
  private sortedBy = -1;
  private descending = true;
  private selected = -1;  // place in order
  private pending = false;

  constructor(private readonly table: Table, private readonly hooks: TableHooks = {}) {
    const {rows} = table;
    this.columns = table.columns.slice(0, table.columns.length - (hooks.hidden ?? 0));
    const {columns} = this;
    this.numeric = columns.map((_, c) => rows.some((row) => typeof row[c] === 'number') ||
                                         (columns[c]!.unit !== 'none' && rows.every((row) => row[c] === null)));
    // Shares are shown as bars, too.
    const measured = columns.findIndex((column) => /^(share|busy|idle)_percent$/.test(column.name));
    this.largest = columns.map((column, c) => {
      if (c !== measured) return 0;
      let most = 0;
      for (const row of rows) {
        const cell = row[c];
        if (typeof cell === 'number' && cell > most) most = cell;
      }
      return column.unit === 'percent' ? Math.max(most, 100) : most;
    });
    this.texts = rows.map((row) => columns.map((column, c) => cellText(row[c]!, column.unit)).join('\u0001').toLowerCase());
    this.order = Uint32Array.from(rows.keys());
    this.template = columns.map((column, c) => this.width(column, c)).join(' ');

    this.input = h('input', {
      class: 'filter', type: 'search', placeholder: 'Filter: words, -word to leave out', 'aria-label': `Filter ${table.title}`,
      on: {input: () => this.filter()},
    });
    this.shown = h('span', {class: 'shown', 'aria-live': 'polite'});
    this.body = h('div', {class: 'body', role: 'rowgroup'});
    const head = h('div', {class: 'line', role: 'row', style: {'grid-template-columns': this.template}});
    columns.forEach((column, c) => {
      const header = h('div', {role: 'columnheader', 'aria-sort': 'none'},
          button(columnTitle(column), () => this.sort(c), {class: this.numeric[c] ? 'number' : '', title: `Sort by ${columnTitle(column)}`}));
      this.headers.push(header);
      head.appendChild(header);
    });
    this.grid = h('div', {
      class: 'grid', role: 'grid', tabindex: '0', 'aria-label': table.title, 'aria-rowcount': rows.length + 1,
      on: {scroll: () => this.later(), keydown: (event: KeyboardEvent) => this.key(event)},
    }, h('div', {class: 'head', role: 'rowgroup'}, head), this.body);
    this.card = h('dl', {class: 'rowcard'});
    this.element = h('section', {class: 'card', 'aria-label': table.title},
        h('div', {class: 'table-tools'}, h('h2', {text: table.title}), this.shown, this.input), this.grid, this.card);
    if (table.left_out > 0) {
      this.element.appendChild(h('p', {class: 'notes', text:
          `${count(table.left_out)} more rows are not in this file; rochound explain shows them.`}));
    }
    new ResizeObserver(() => this.later()).observe(this.grid);
    this.layout();
  }

  private width(column: Column, c: number): string {
    if (this.numeric[c]) return 'minmax(92px, 118px)';
    let most = column.name.length;
    for (const row of this.table.rows) {
      const cell = row[c];
      if (typeof cell === 'string' && cell.length > most) most = cell.length;
    }
    return most > 26 ? 'minmax(260px, 1fr)' : `minmax(${Math.max(80, most * 8 + 32)}px, auto)`;
  }

  private layout(): void {
    const rows = this.order.length;
    setStyle(this.body, {height: `${rows * ROW}px`});
    setStyle(this.grid, {height: `${Math.min(HEAD + rows * ROW + 2, Math.max(240, Math.round(window.innerHeight * 0.62)))}px`});
    const all = this.table.rows.length;
    this.shown.textContent = rows === all ? `${count(all)} ${all === 1 ? 'row' : 'rows'}` : `${count(rows)} of ${count(all)} rows`;
    this.later();
  }

  private later(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.paint();
    });
  }

  private paint(): void {
    const top = Math.max(0, Math.floor(this.grid.scrollTop / ROW) - 4);
    const bottom = Math.min(this.order.length, Math.ceil((this.grid.scrollTop + this.grid.clientHeight) / ROW) + 4);
    const lines: HTMLElement[] = [];
    for (let place = top; place < bottom; ++place) lines.push(this.line(place));
    this.body.replaceChildren(...lines);
  }

  private line(place: number): HTMLElement {
    const row = this.table.rows[this.order[place]!]!;
    const line = h('div', {
      class: 'line', role: 'row', 'aria-rowindex': place + 2, 'aria-selected': place === this.selected ? 'true' : 'false',
      style: {top: `${place * ROW}px`, 'grid-template-columns': this.template},
      on: {click: () => this.select(place)},
    });
    let swatch = this.hooks.swatches === true;
    this.columns.forEach((column, c) => {
      const cell = row[c]!;
      if (typeof cell === 'number') {
        const {number, unit} = quantity(cell, column.unit);
        const most = this.largest[c]!;
        line.appendChild(h('div', {class: 'cell number', role: 'gridcell'},
            most > 0 && h('span', {class: 'meter', style: {width: `${(100 * Math.max(0, cell) / most).toFixed(2)}%`}}),
            h('span', {class: 'over'}, number, column.unit === 'none' || column.unit === 'id' ? null : h('span', {class: 'unit', text: unit}))));
        return;
      }
      const text = cell ?? '–';
      const box = h('div', {class: this.numeric[c] ? 'cell number' : 'cell text', role: 'gridcell', title: text.length > 24 ? text : undefined});
      if (swatch && cell !== null && !this.numeric[c]) {
        swatch = false;
        box.appendChild(h('i', {class: 'swatch', style: {background: kernelColor(cell)}}));
      }
      box.appendChild(midName(NAMES.test(column.name) ? brief(text) : text));
      line.appendChild(box);
    });
    return line;
  }

  private filter(): void {
    const words = this.input.value.toLowerCase().split(/\s+/).filter((word) => word !== '' && word !== '-');
    const wanted = words.filter((word) => !word.startsWith('-'));
    const unwanted = words.filter((word) => word.startsWith('-')).map((word) => word.slice(1));
    const kept: number[] = [];
    this.texts.forEach((text, i) => {
      if (wanted.every((word) => text.includes(word)) && !unwanted.some((word) => text.includes(word))) kept.push(i);
    });
    this.order = Uint32Array.from(kept);
    this.selected = -1;
    clear(this.card);
    if (this.sortedBy >= 0) this.arrange();
    this.grid.scrollTop = 0;
    this.layout();
  }

  sort(column: number, descending?: boolean): void {
    this.descending = descending ?? (this.sortedBy === column ? !this.descending : this.numeric[column]!);
    this.sortedBy = column;
    this.headers.forEach((header, c) =>
        header.setAttribute('aria-sort', c !== column ? 'none' : this.descending ? 'descending' : 'ascending'));
    this.arrange();
    this.selected = -1;
    clear(this.card);
    this.layout();
  }

  private arrange(): void {
    const {rows} = this.table;
    const c = this.sortedBy;
    const sign = this.descending ? -1 : 1;
    // Nothing known is last, whichever way.
    this.order.sort((x, y) => {
      const a = rows[x]![c]!;
      const b = rows[y]![c]!;
      if (a === null || b === null) return a === b ? x - y : a === null ? 1 : -1;
      if (typeof a === 'number' && typeof b === 'number') return sign * (a - b) || x - y;
      return sign * (String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0) || x - y;
    });
  }

  select(place: number): void {
    if (place < 0 || place >= this.order.length) return;
    this.selected = place;
    const top = place * ROW;
    if (top < this.grid.scrollTop) this.grid.scrollTop = top;
    if (top + ROW + HEAD > this.grid.scrollTop + this.grid.clientHeight) {
      this.grid.scrollTop = top + ROW + HEAD - this.grid.clientHeight;
    }
    this.later();
    clear(this.card);
    const row = this.table.rows[this.order[place]!]!;
    this.columns.forEach((column, c) => {
      const cell = row[c]!;
      const text = cellText(cell, column.unit);
      if (typeof cell === 'string' && cell.length > 24) this.card.prepend(h('div', {class: 'name', text: cell}));
      else this.card.appendChild(h('div', {}, h('dt', {text: columnTitle(column)}), h('dd', {text})));
    });
    this.hooks.chosen?.(row);
    for (const action of this.hooks.actions?.(row) ?? []) this.card.appendChild(button(action.label, action.run, {class: 'chip'}));
  }

  // Chooses the first row that has this value anywhere; what links of plots and of the timeline do.
  reveal(value: string): boolean {
    const find = () => {
      for (let place = 0; place < this.order.length; ++place) {
        if (this.table.rows[this.order[place]!]!.some((cell) => cell !== null && String(cell) === value)) return place;
      }
      return -1;
    };
    let place = find();
    if (place < 0 && this.input.value !== '') {
      this.input.value = '';
      this.filter();
      place = find();
    }
    if (place < 0) return false;
    this.select(place);
    this.element.scrollIntoView({block: 'nearest'});
    return true;
  }

  private key(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.grid.clientHeight / ROW) - 2);
    const last = this.order.length - 1;
    const steps: Record<string, number> = {
      ArrowDown: this.selected + 1, ArrowUp: this.selected - 1, PageDown: this.selected + page, PageUp: this.selected - page,
      Home: 0, End: last,
    };
    const target = steps[event.key];
    if (target === undefined || event.target !== this.grid) return;
    event.preventDefault();
    this.select(Math.max(0, Math.min(last, target)));
  }
}
