// SPDX-License-Identifier: MIT
//
// Findings at the top of the overview: sentences, most time first, each with what was seen, where
// to see it, and one thing to do. The C++ side finds and words them (src/analysis/findings).

import {columnOf, tableOf, type Cell, type Report, type Table} from './data';
import {h} from './dom';

function textOf(table: Table, row: Cell[], column: string): string {
  const place = columnOf(table, column);
  const cell = place >= 0 ? row[place] : null;
  return typeof cell === 'string' ? cell : '';
}

function item(table: Table, row: Cell[]): HTMLElement {
  const text = (column: string): string => textOf(table, row, column);
  const line = (label: string, ...content: (Node | string)[]): HTMLElement =>
      h('div', {class: 'line'}, h('span', {class: 'label', text: label}), h('span', {}, ...content));
  const lines = [
    line('Do', text('advice')),
    line('Seen', `${text('evidence')} `, h('a', {href: `#${text('question')}`, title: text('command'), text: 'Show'})),
  ];
  if (text('to_be_sure') !== '') lines.push(line('To be sure', text('to_be_sure')));
  return h('li', {class: text('confidence')},
      h('div', {class: 'sentence'}, h('strong', {text: text('finding')}), ' ', h('span', {class: 'confidence', text: text('confidence')})),
      ...lines);
}

export function findingsBox(report: Report): HTMLElement | null {
  const table = tableOf(report, 'findings', 'findings');
  if (!table) return null;
  const verdict = report.answers.find((answer) => answer.question === 'findings')?.notes ?? [];
  return h('section', {class: 'card findings', 'aria-label': 'Findings'},
      h('div', {class: 'title'}, h('h2', {text: 'What to do first'})),
      ...verdict.map((text) => h('p', {class: 'verdict', text})),
      table.rows.length > 0 && h('ol', {}, ...table.rows.map((row) => item(table, row))));
}
