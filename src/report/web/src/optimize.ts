// SPDX-License-Identifier: MIT
//
// What `rochound optimize` tried: every candidate in its order, what it costs, where it failed, and
// the roofline before and after the best one. Fields are those of src/optimize/journal_page.cpp.

import type {Cell, Table} from './data';
import {h, svg} from './dom';
import {count} from './format';
import {type Roofline, RooflinePage} from './roofline';
import {TableView} from './table';
import {hideTip, showTip} from './tip';

interface Measured {
  original: number;
  candidate: number;
  ratio: number;
  low: number;
  high: number;
}

interface Launch {
  bundle: string;
  shape: string;
  reason?: string;
  message?: string;
  comparison?: string;
  modelled_cycles?: Measured;
  gpu_seconds?: Measured;
  notes?: string[];
}

type Resources = Record<string, number | string>;

interface Candidate {
  id: number;
  name: string;
  flags: string;
  stage: string;  // first: of one launch; all: of every one; held-out: of those that the search did not see
  state: string;
  reason: string;
  about: string;
  message: string;
  speedup: number;
  cost: number;
  seconds: number;
  at: string;
  launches?: Launch[];
  build_log?: string;
  original_resources?: Resources;
  candidate_resources?: Resources;
}

export interface OptimizeJournal {
  kernel: string;
  target: string;
  metric: string;
  best: number | null;
  candidates: Candidate[];
  events: string[];
  questions_to_models: number;
  roofline: Roofline | null;
}

const WIDTH = 1000, HEIGHT = 260, LEFT = 70, RIGHT = 985, TOP = 20, FLOOR = 205, FAILED = 228;
const RIGHT_ONES = new Set(['faster', 'no-difference', 'slower', 'slower-somewhere']);

const isRight = (one: Candidate): boolean => RIGHT_ONES.has(one.reason);
const costOf = (one: Candidate): number => isRight(one) ? one.cost : 0;
// What the captured kernel costs in the launches that this candidate was measured in.
const originalCost = (one: Candidate): number =>
    (one.launches ?? []).reduce((sum, launch) => sum + ((launch.gpu_seconds ?? launch.modelled_cycles)?.original ?? 0), 0);
const times = (ratio: number): string => ratio > 0 ? `${ratio.toFixed(2)} ×` : '';

export class OptimizePage {
  readonly element: HTMLElement;
  private readonly details = h('section', {class: 'card candidate-details', 'aria-live': 'polite', 'aria-label': 'Candidate'});
  private readonly drawn = new Map<Candidate, Element>();

  constructor(private readonly journal: OptimizeJournal, highlight: (name: string) => void) {
    const {candidates} = journal;
    const best = candidates.find((one) => one.id === journal.best);
    this.element = h('div', {class: 'page'}, h('h1', {text: 'Optimize'}), h('p', {class: 'lead', text:
        `Candidates for ${journal.kernel} on ${journal.target}. ` + (journal.metric === 'GPU time' ? 'Costs are times of a GPU.' :
        'Costs are modelled cycles: what a simple model makes of a software GPU’s exact counts, no measurement of silicon.')}));
    const tile = (label: string, value: string, more: string) => h('div', {class: 'tile'}, h('div', {class: 'label', text: label}),
        h('div', {class: 'value', text: value}), h('div', {class: 'more', text: more}));
    this.element.appendChild(h('div', {class: 'tiles'},
        tile('Candidates', count(candidates.length), journal.questions_to_models > 0 ? `${count(journal.questions_to_models)} questions to a model` : ''),
        tile('Equal', count(candidates.filter(isRight).length), 'of them'),
        tile('Best', best ? times(best.speedup) : 'none', best ? best.name : 'no candidate is equal and faster'),
        tile('State', best?.state ?? '', best?.state === 'applied' ? 'the program runs with it' : '')));
    this.element.appendChild(h('section', {class: 'card', 'aria-label': 'History'}, h('div', {class: 'title'}, h('h2', {text: 'History'}),
        h('span', {class: 'note', text: 'filled: equal and faster · hollow: equal · cross: rejected · dash: the captured kernel · line: the best so far'})), this.history()));
    this.element.appendChild(this.failures());
    this.element.appendChild(this.details);
    this.element.appendChild(new TableView(this.table(), {
      chosen: (row) => this.choose(candidates[Number(row[row.length - 1])]!), hidden: 1,
    }).element);
    if (journal.roofline !== null) this.element.appendChild(new RooflinePage(journal.roofline, null, highlight).element);
    if (journal.events.length > 0) {
      this.element.appendChild(h('section', {class: 'card', 'aria-label': 'Events'}, h('div', {class: 'title'}, h('h2', {text: 'Events'})),
          h('ul', {class: 'events'}, ...journal.events.map((text) => h('li', {text})))));
    }
    const chosen = best ?? candidates[0];
    if (chosen !== undefined) this.choose(chosen);
  }

  private history(): Element {
    const {candidates} = this.journal;
    const costs = candidates.flatMap((one) => [costOf(one), originalCost(one)]).filter((cost) => cost > 0);
    const picture = svg('svg', {class: 'history', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'group', 'aria-label': 'Cost of each candidate, logarithmic'});
    const from = Math.log10(Math.min(...costs)) - 0.05, to = Math.log10(Math.max(...costs)) + 0.05;
    const y = (cost: number) => FLOOR - (Math.log10(cost) - from) / (to - from) * (FLOOR - TOP);
    const x = (place: number) => LEFT + (place + 0.5) / candidates.length * (RIGHT - LEFT);
    const label = (height: number, text: string) => svg('text', {x: String(LEFT - 6), y: (height + 4).toFixed(1), 'text-anchor': 'end', class: 'tick'}, text);
    if (costs.length > 0) {
      for (const cost of new Set([Math.min(...costs), Math.max(...costs)])) {
        picture.append(svg('path', {class: 'grid-line', d: `M${LEFT} ${y(cost).toFixed(1)}H${RIGHT}`}), label(y(cost), String(Number(cost.toPrecision(3)))));
      }
    }
    picture.append(label(FAILED, 'rejected'));
    let best = Infinity, steps = '';
    candidates.forEach((one, place) => {
      // Candidates that were measured in one launch are not compared with those of all.
      if (one.reason !== 'faster' || one.stage !== 'all' || one.cost >= best) return;
      steps += steps === '' ? `M${x(place).toFixed(1)} ${y(one.cost).toFixed(1)}` : `H${x(place).toFixed(1)}V${y(one.cost).toFixed(1)}`;
      best = one.cost;
    });
    if (steps !== '') picture.append(svg('path', {class: 'best-so-far', d: `${steps}H${RIGHT}`}));
    candidates.forEach((one, place) => {
      const cost = costOf(one);
      const at = x(place).toFixed(1);
      const height = cost > 0 ? y(cost) : FAILED;
      const mark = cost > 0 ? svg('circle', {cx: at, cy: height.toFixed(1), r: '6'})
                            : svg('path', {d: `M${at} ${height}m-5 -5l10 10m0 -10l-10 10`});
      const group = svg('g', {
        class: `candidate ${cost <= 0 ? 'rejected' : one.reason === 'faster' ? 'faster' : 'equal'}`, tabindex: '0', role: 'button', 'data-candidate': String(one.id),
        'aria-label': `Candidate ${one.id}, ${one.name}: ${one.about}`,
      });
      const original = originalCost(one);
      if (original > 0) group.append(svg('path', {class: 'original', d: `M${at} ${y(original).toFixed(1)}m-7 0h14`}));
      group.append(mark);
      group.addEventListener('pointermove', (event) => showTip((event as PointerEvent).clientX, (event as PointerEvent).clientY, `${one.id}: ${one.name}`,
          [one.about, one.message, ...(cost > 0 ? [`cost ${Number(cost.toPrecision(4))}, original ${Number(original.toPrecision(4))}`] : [])]));
      group.addEventListener('pointerleave', hideTip);
      group.addEventListener('click', () => this.choose(one));
      group.addEventListener('keydown', (event) => {
        const {key} = event as KeyboardEvent;
        if (key !== 'Enter' && key !== ' ') return;
        event.preventDefault();
        this.choose(one);
      });
      this.drawn.set(one, group);
      picture.append(group);
    });
    return h('div', {class: 'roofline-box'}, picture);
  }

  // How many ended for which reason, the most frequent first.
  private failures(): HTMLElement {
    const reasons = new Map<string, {about: string; candidates: number}>();
    for (const one of this.journal.candidates) {
      const known = reasons.get(one.reason) ?? {about: one.about, candidates: 0};
      ++known.candidates;
      reasons.set(one.reason, known);
    }
    const most = Math.max(1, ...[...reasons.values()].map((one) => one.candidates));
    return h('section', {class: 'card', 'aria-label': 'What became of them'}, h('div', {class: 'title'}, h('h2', {text: 'What became of them'})),
        h('div', {class: 'bars', role: 'list'}, ...[...reasons].sort((a, b) => b[1].candidates - a[1].candidates).map(([reason, one]) =>
            h('div', {role: 'listitem', class: 'bar reason', 'data-reason': reason}, h('span', {class: 'what'}, h('span', {class: 'name', text: one.about}),
                h('span', {class: 'meter'}, h('i', {style: {width: `${100 * one.candidates / most}%`, background: reason === 'faster' ? '#2f9e6e' : '#8a93a3'}}))),
            h('span', {class: 'number', text: count(one.candidates)}), h('span', {class: 'share', text: ''})))));
  }

  private table(): Table {
    return {
      id: 'candidates', title: 'Candidates', left_out: 0,
      columns: [
        {name: 'number', unit: 'none'}, {name: 'candidate', unit: 'none'}, {name: 'flags', unit: 'none'}, {name: 'launches', unit: 'none'},
        {name: 'state', unit: 'none'}, {name: 'reason', unit: 'none'}, {name: 'times as fast', unit: 'none'}, {name: 'cost', unit: 'none'},
        {name: 'judged in seconds', unit: 'none'}, {name: 'place', unit: 'id'},
      ],
      rows: this.journal.candidates.map((one, place): Cell[] => [
        one.id, one.name, one.flags, one.stage, one.state, one.reason, one.speedup > 0 ? Number(one.speedup.toPrecision(4)) : null,
        one.cost > 0 ? Number(one.cost.toPrecision(5)) : null, Number(one.seconds.toFixed(2)), place,
      ]),
    };
  }

  private choose(one: Candidate): void {
    for (const [other, element] of this.drawn) element.setAttribute('aria-pressed', String(other === one));
    const lines: HTMLElement[] = [];
    for (const launch of one.launches ?? []) {
      const measured = launch.gpu_seconds ?? launch.modelled_cycles;
      const figures = launch.reason !== undefined ? `rejected here: ${launch.message ?? launch.reason}`
          : measured ? `${Number(measured.original.toPrecision(5))} before, ${Number(measured.candidate.toPrecision(5))} after: ${times(measured.ratio)} ` +
                `(${measured.low.toFixed(3)} to ${measured.high.toFixed(3)}); ${launch.comparison ?? ''}` : launch.comparison ?? '';
      lines.push(h('li', {text: `${launch.bundle}, ${launch.shape}: ${figures}`}), ...(launch.notes ?? []).map((text) => h('li', {class: 'note', text})));
    }
    const before = one.original_resources, after = one.candidate_resources;
    const resources = before && after ? h('table', {class: 'resources'}, h('tr', {}, h('th', {text: 'resource'}), h('th', {text: 'original'}), h('th', {text: 'candidate'})),
        ...Object.keys(before).filter((name) => before[name] !== '' || (after[name] ?? '') !== '').map((name) => h('tr', {class: before[name] === after[name] ? '' : 'changed'}, h('td', {text: name.replaceAll('_', ' ')}),
            h('td', {text: String(before[name])}), h('td', {text: String(after[name] ?? '')})))) : null;
    const parts: (HTMLElement | null)[] = [
      h('div', {class: 'title'}, h('h2', {text: `Candidate ${one.id}: ${one.name}`}), h('span', {class: 'note', text: `${one.state}; ${one.at} ${one.flags}`})),
      h('p', {class: 'verdict', text: `${one.about}: ${one.message}`}),
      lines.length > 0 ? h('ul', {}, ...lines) : null, resources,
      one.build_log ? h('pre', {class: 'build-log', text: one.build_log}) : null,
    ];
    this.details.replaceChildren(...parts.filter((part): part is HTMLElement => part !== null));
  }
}
