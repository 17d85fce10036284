// SPDX-License-Identifier: MIT
//
// The timeline's page: search, the strip that shows where in the whole trace the view is, the lanes,
// and what is known about the chosen event or span of time.

import {BUSY, currentTheme} from './colors';
import type {Report} from './data';
import {button, clear, fitCanvas, h} from './dom';
import type {Events} from './events';
import {brief, count, exact, middle, ns, percent, show} from './format';
import {Lanes} from './lanes';
import {hideTip, showTip} from './tip';

const STRIP = 44;

const sizes = (of: number[]): string => of.map(count).join(' × ');

export class TimelinePage {
  readonly element: HTMLElement;
  readonly lanes: Lanes;
  private readonly strip: HTMLCanvasElement;
  private readonly details: HTMLElement;
  private readonly said: HTMLElement;
  private readonly search: HTMLInputElement;
  private readonly found: HTMLElement;
  private shares: Float64Array = new Float64Array(0);
  private wanted: Uint8Array | null = null;  // by name: 1 is searched for

  constructor(private readonly report: Report, private readonly events: Events,
              private readonly openRow: (name: string, onGpu: boolean) => void) {
    const {header} = events;
    this.strip = h('canvas', {'aria-hidden': 'true'});
    this.details = h('div', {class: 'details', 'aria-label': 'Details'});
    this.said = h('div', {class: 'sr', 'aria-live': 'polite'});
    this.found = h('span', {class: 'shown', 'aria-live': 'polite'});
    this.search = h('input', {
      class: 'filter', type: 'search', placeholder: 'Find a kernel or call', 'aria-label': 'Find events by name',
      on: {
        input: () => this.find(),
        keydown: (event: KeyboardEvent) => {
          if (event.key === 'Enter') this.next(!event.shiftKey);
          if (event.key === 'Escape') this.lanes.element.focus();
        },
      },
    });
    this.lanes = new Lanes(events, {
      view: () => this.drawStrip(),
      hover: (event, x, y) => this.hover(event, x, y),
      select: (event) => this.describe(event),
      range: (begin, end) => this.describeRange(begin, end),
    });
    const key = (keys: string, what: string) => h('span', {}, h('kbd', {text: keys}), ` ${what}`);
    const tools = h('div', {class: 'stage-tools'}, h('h1', {text: 'Timeline'}), this.search, this.found,
        button('‹', () => this.next(false), {class: 'chip', 'aria-label': 'Previous match'}), button('›', () => this.next(true), {class: 'chip', 'aria-label': 'Next match'}),
        button('Whole trace', () => this.lanes.fit(), {class: 'chip'}),
        h('span', {class: 'keys'}, key('W S', 'zoom'), key('A D', 'move'), key('Shift', 'drag: measure'), key('← →', 'step'), key('Enter', 'launch')));
    const note = header.quantum > 0 ? h('div', {class: 'thin', role: 'note', text:
        `Thinned: ${count(header.all_events)} events do not fit. Short neighbours are merged into pale blocks of up to ${ns(header.quantum)} ` +
        'that say how many they hold. Tables and flame graph count every event.'}) : null;
    const strip = h('div', {class: 'overview-strip'}, h('div', {class: 'label', text: 'GPU busy, whole trace'}), this.strip);
    this.element = h('div', {class: 'stage'}, h('div', {}, tools, note), strip, this.lanes.element, h('div', {}, this.details, this.said));
    this.listenStrip();
    this.describe(-1);
    new ResizeObserver(() => {
      this.shares = new Float64Array(0);
      this.drawStrip();
    }).observe(strip);
  }

  redraw(): void {
    this.lanes.later();
    this.drawStrip();
  }

  // --- the strip

  private drawStrip(): void {
    const width = this.lanes.width;
    if (width <= 1) return;
    const context = fitCanvas(this.strip, width, STRIP);
    const theme = currentTheme();
    const {length, tracks} = this.events.header;
    const gpus = [...new Set(tracks.filter((track) => track.kind === 'gpu').map((track) => track.gpu))]
        .map((gpu) => this.events.rows.filter((row) => tracks[row.track]!.kind === 'gpu' && tracks[row.track]!.gpu === gpu));
    if (this.shares.length !== width) {
      this.shares = new Float64Array(width);
      for (let x = 0; x < width; ++x) {
        let busy = 0;
        for (const rows of gpus) busy += this.events.busyAny(rows, x * length / width, (x + 1) * length / width);
        this.shares[x] = gpus.length === 0 ? 0 : busy / (length / width) / gpus.length;
      }
    }
    context.clearRect(0, 0, width, STRIP);
    context.fillStyle = BUSY;
    for (let x = 0; x < width; ++x) {
      const height = this.shares[x]! * (STRIP - 8);
      if (height > 0) context.fillRect(x, STRIP - Math.max(height, 1), 1, Math.max(height, 1));
    }
    const left = Math.max(0, this.lanes.begin / length * width);
    const right = Math.min(width, (this.lanes.begin + this.lanes.perPixel * this.lanes.width) / length * width);
    context.fillStyle = theme.surface;
    context.globalAlpha = 0.68;
    context.fillRect(0, 0, left, STRIP);
    context.fillRect(right, 0, width - right, STRIP);
    context.globalAlpha = 1;
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5;
    context.strokeRect(left + 0.75, 0.75, Math.max(right - left - 1.5, 2), STRIP - 1.5);
  }

  private listenStrip(): void {
    let down = false;
    const go = (event: PointerEvent) => {
      const box = this.strip.getBoundingClientRect();
      const time = (event.clientX - box.left) / box.width * this.events.header.length;
      const half = this.lanes.perPixel * this.lanes.width / 2;
      this.lanes.show(time - half, time + half);
    };
    this.strip.addEventListener('pointerdown', (event) => {
      down = true;
      this.strip.setPointerCapture(event.pointerId);
      go(event);
    });
    this.strip.addEventListener('pointermove', (event) => down && go(event));
    this.strip.addEventListener('pointerup', () => down = false);
  }

  // --- finding

  highlight(name: string): void {
    this.search.value = name;
    this.find(name);
    this.next(true);
  }

  private find(exact?: string): void {
    const word = this.search.value.trim().toLowerCase();
    if (word === '') {
      this.wanted = null;
      this.lanes.highlight(null);
      this.found.textContent = '';
      return;
    }
    const wanted = new Uint8Array(this.events.header.names.length);
    this.events.header.names.forEach((name, i) => {
      wanted[i] = (exact !== undefined ? name === exact : name.toLowerCase().includes(word)) ? 1 : 0;
    });
    let events = 0;
    for (let i = 0; i < this.events.count; ++i) events += wanted[this.events.name[i]!]! * this.events.merged[i]!;
    this.wanted = wanted;
    this.lanes.highlight(wanted);
    this.found.textContent = events === 0 ? 'no event' : `${count(events)} events`;
  }

  private next(forward: boolean): void {
    if (this.wanted === null) return;
    const event = this.events.nextNamed(this.wanted, this.lanes.selected, forward);
    if (event < 0) return;
    this.lanes.select(event);
    this.lanes.reveal(event);
  }

  goTo(begin: number, end: number): void {
    const margin = Math.max((end - begin) * 0.5, 50);
    this.lanes.show(begin - margin, end + margin);
    this.lanes.range = [begin, end];
    this.describeRange(begin, end);
    this.lanes.later();
  }

  // --- telling

  private hover(event: number, x: number, y: number): void {
    if (event < 0) return hideTip();
    const lines = [`${ns(this.events.duration[event]!)}, ${this.events.trackOf(event).title}`];
    if (this.events.unfinished.has(event)) lines.push('never finished: in flight when the recording ended');
    if (this.events.merged[event]! > 1) lines.unshift(`${count(this.events.merged[event]!)} events, the longest:`);
    const operations = this.events.link[event]! < 0 ? this.events.operationsOf(event).length : 0;
    if (operations > 0) lines.push(`launched ${count(operations)} ${operations === 1 ? 'operation' : 'operations'}`);
    showTip(x, y, this.events.nameOf(event), lines);
  }

  private item(label: string, value: string): HTMLElement {
    return h('div', {}, h('dt', {text: label}), h('dd', {text: value}));
  }

  private jump(label: string, event: number): HTMLButtonElement {
    return button(label, () => {
      this.lanes.select(event);
      this.lanes.reveal(event);
      this.lanes.element.focus();
    }, {class: 'chip'});
  }

  private describe(event: number): void {
    clear(this.details);
    if (event < 0) {
      this.details.appendChild(h('p', {class: 'hint', text:
          `${count(this.events.header.all_events)} events in ${ns(this.events.header.length)}. Wheel zooms, dragging moves. Click an event for its details; hold Shift and drag to measure a span.`}));
      this.said.textContent = '';
      return;
    }
    const {events} = this;
    const track = events.trackOf(event);
    const name = events.nameOf(event);
    const call = events.link[event]!;
    const list = h('dl', {}, this.item('Duration', ns(events.duration[event]!)), this.item('Start', exact(events.start[event]!)),
        this.item('End', exact(events.end(event))), this.item(track.kind === 'gpu' ? 'On' : 'Thread', `${track.title} (${track.group}${track.note === '' ? '' : `, ${track.note}`})`));
    const shape = events.shape[event]! === 0 ? undefined : events.header.shapes[events.shape[event]!];
    if (shape !== undefined && events.merged[event]! === 1) {
      const workgroups = shape.grid.reduce((product, items, i) => product * Math.ceil(items / Math.max(shape.workgroup[i]!, 1)), 1);
      list.append(this.item('Grid', `${sizes(shape.grid)} work items`),
          this.item('Workgroup', `${sizes(shape.workgroup)}, ${count(workgroups)} of them`));
      if (shape.lds > 0) list.appendChild(this.item('LDS', show(shape.lds, 'bytes')));
    }
    if (events.unfinished.has(event)) list.appendChild(this.item('Never finished', 'in flight when the recording ended'));
    if (events.merged[event]! > 1) list.appendChild(this.item('Stands for', `${count(events.merged[event]!)} events`));
    else list.appendChild(this.item(track.kind === 'gpu' ? 'rocpd_op id' : 'rocpd_api id', String(events.id[event]!)));
    const links = h('div', {class: 'links'});
    if (call >= 0) {
      list.appendChild(this.item('From call to start', ns(events.start[event]! - events.start[call]!)));
      links.appendChild(this.jump(`Launched by ${middle(brief(events.nameOf(call)), 44)}`, call));
    }
    const operations = call < 0 ? events.operationsOf(event) : [];
    if (operations.length > 0) {
      list.appendChild(this.item('GPU time launched', ns(operations.reduce((sum, op) => sum + events.duration[op]!, 0))));
      for (const op of operations.slice(0, 6)) links.appendChild(this.jump(`→ ${middle(brief(events.nameOf(op)), 44)}`, op));
      if (operations.length > 6) links.appendChild(h('span', {class: 'hint', text: `and ${count(operations.length - 6)} more`}));
    }
    links.appendChild(button('Show in its table', () => this.openRow(name, track.kind === 'gpu'), {class: 'chip'}));
    links.appendChild(button('Highlight all of this name', () => {
      this.search.value = name;
      this.find(name);
    }, {class: 'chip'}));
    this.details.append(h('h2', {text: name}), list, links);
    this.said.textContent = `${name}, ${ns(events.duration[event]!)}, ${track.title}`;
  }

  private describeRange(begin: number, end: number): void {
    const {events} = this;
    const totals = new Map<number, {time: number; events: number}>();
    for (const row of events.rows) {
      if (events.header.tracks[row.track]!.kind !== 'gpu') continue;
      const last = events.firstStartingAt(end, row.from, row.to);
      for (let i = events.firstEndingAfter(begin, row.from, row.to); i < last; ++i) {
        const time = Math.min(end, events.end(i)) - Math.max(begin, events.start[i]!);
        const total = totals.get(events.name[i]!) ?? {time: 0, events: 0};
        total.time += time;
        total.events += events.merged[i]!;
        totals.set(events.name[i]!, total);
      }
    }
    const list = h('dl', {}, this.item('Length', ns(end - begin)), this.item('From', exact(begin)), this.item('To', exact(end)),
        this.item('Per second', show(1e9 / Math.max(end - begin, 1), 'per_second')));
    const links = h('div', {class: 'links'});
    [...totals].sort((a, b) => b[1].time - a[1].time).slice(0, 6).forEach(([name, total]) => {
      const text = events.header.names[name]!;
      links.appendChild(button(`${middle(brief(text), 36)} ${ns(total.time)} (${percent(total.time, end - begin)}, ${count(total.events)}×)`,
          () => this.openRow(text, true), {class: 'chip', title: text}));
    });
    if (totals.size === 0) links.appendChild(h('span', {class: 'hint', text: 'Nothing ran on a GPU in this span.'}));
    clear(this.details);
    this.details.append(h('h2', {text: 'Span of time'}), list, links);
    this.said.textContent = `Span of ${ns(end - begin)}`;
  }
}
