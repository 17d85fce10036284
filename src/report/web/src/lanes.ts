// SPDX-License-Identifier: MIT
//
// The timeline's canvas: draws what is in sight and turns wheel, pointer and keys into a new view.
// Work for a frame depends on the pixels, not on the events: pixels are walked, and bisection finds
// the events below each. Pixels are on a grid fixed in time, so that nothing shimmers while the
// view moves.

import {callColor, currentTheme, inkOn, kernelColor} from './colors';
import {fitCanvas, h, setStyle} from './dom';
import {type Events, Longest, type Row} from './events';
import {axisTime, brief, fitText, niceStep} from './format';

const RULER = 30;
const LANE_ROW = 20;
const LANE_PAD = 6;
const GUTTER = 210;
const ZOOM_LIMIT = 0.01;  // nanoseconds per pixel
const FADED = 0.16;       // what is not searched for
const PALE = 0.55;        // several events in one block

// Even a lonely short event can be seen; sixteen shades make long runs of equal pixels.
const shade = (share: number): number => 0.45 + 0.55 * Math.ceil(Math.min(1, share) * 16 - 1e-6) / 16;

interface Lane {
  track: number;
  top: number;
  height: number;
  rows: Row[];
}

export interface LanesHooks {
  view: () => void;                                  // the part of time in sight has changed
  hover: (event: number, x: number, y: number) => void;
  select: (event: number) => void;
  range: (begin: number, end: number) => void;
}

export class Lanes {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  begin = 0;
  perPixel = 1;
  width = 1;
  selected = -1;
  range: [number, number] | null = null;
  readonly frames: number[] = [];    // milliseconds of the last frames
  private wanted: Uint8Array | null = null;
  private longest: Longest;
  private readonly lanes: Lane[] = [];
  private readonly colors: string[];
  private readonly labels: HTMLElement[] = [];
  private height = 1;
  private total = 0;
  private pending = false;
  private readonly held = new Set<string>();
  private lastTick = 0;

  constructor(private readonly events: Events, private readonly hooks: LanesHooks) {
    const {header} = events;
    this.longest = new Longest(events.duration);
    const onGpu = new Uint8Array(header.names.length);
    for (const row of events.rows) {
      if (header.tracks[row.track]!.kind !== 'gpu') continue;
      for (let i = row.from; i < row.to; ++i) onGpu[events.name[i]!] = 1;
    }
    this.colors = header.names.map((name, i) => onGpu[i] ? kernelColor(name) : callColor(name));
    let top = RULER;
    header.tracks.forEach((_, track) => {
      const rows = events.rows.filter((row) => row.track === track);
      const height = Math.max(42, rows.length * LANE_ROW + 2 * LANE_PAD);
      this.lanes.push({track, top, height, rows});
      top += height;
    });
    this.total = top;

    this.canvas = h('canvas', {'aria-hidden': 'true'});
    const gutter = h('div', {class: 'gutter', style: {height: `${this.total}px`}}, h('div', {class: 'corner'}));
    for (const lane of this.lanes) {
      const track = header.tracks[lane.track]!;
      const label = h('div', {class: 'lane', title: [track.title, track.group, track.note].filter((text) => text !== '').join(', '), style: {top: `${lane.top}px`, height: `${lane.height}px`}},
          h('b', {text: track.title}), h('small', {text: track.group}));
      this.labels.push(label);
      gutter.appendChild(label);
    }
    this.element = h('div', {
      class: 'lanes', tabindex: '0', role: 'application', 'aria-roledescription': 'timeline',
      'aria-label': 'Timeline. W and S zoom, A and D move, arrow keys go from event to event.',
    }, gutter, this.canvas);
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  private resize(): void {
    const first = this.width === 1;
    const middle = this.begin + this.perPixel * this.width / 2;
    const width = Math.max(50, this.element.clientWidth - GUTTER);
    this.height = Math.max(50, this.element.clientHeight);
    if (first) {
      this.width = width;
      this.fit();
    } else {
      this.width = width;
      this.begin = middle - this.perPixel * width / 2;
    }
    // A canvas as high as the window that sticks to its top must not lengthen what is scrolled.
    setStyle(this.canvas, {'margin-bottom': `${Math.max(0, this.total - this.height)}px`});
    this.later();
  }

  fit(): void {
    const length = Math.max(this.events.header.length, 1);
    this.show(-0.01 * length, 1.01 * length);
  }

  show(begin: number, end: number): void {
    this.perPixel = (end - begin) / this.width;
    this.begin = begin;
    this.limit();
    this.later();
    this.hooks.view();
  }

  // Brings an event into sight, large enough to be seen.
  reveal(event: number): void {
    const start = this.events.start[event]!;
    const duration = Math.max(this.events.duration[event]!, 1);
    const inSight = start >= this.begin && start + duration <= this.begin + this.width * this.perPixel;
    if (!inSight || duration / this.perPixel < 24) {
      const half = Math.max(duration * 4, 500);
      this.show(start + duration / 2 - half, start + duration / 2 + half);
    }
    const place = this.rowTop(this.events.rowOf[event]!);
    const top = this.element.scrollTop;
    if (place < top + RULER || place + LANE_ROW > top + this.height) this.element.scrollTop = place - this.height / 2;
    this.later();
  }

  // By name: 1 stays, the rest fades; null: everything stays.
  highlight(wanted: Uint8Array | null): void {
    this.wanted = wanted;
    this.longest = new Longest(this.events.duration, (event) => wanted === null || wanted[this.events.name[event]!] === 1);
    this.later();
  }

  select(event: number): void {
    this.selected = event;
    this.range = null;
    this.later();
    this.hooks.select(event);
  }

  zoom(factor: number, at = this.width / 2): void {
    const time = this.begin + at * this.perPixel;
    this.perPixel *= factor;
    this.limitScale();
    this.begin = time - at * this.perPixel;
    this.limit();
    this.later();
    this.hooks.view();
  }

  pan(pixels: number): void {
    this.begin += pixels * this.perPixel;
    this.limit();
    this.later();
    this.hooks.view();
  }

  private limitScale(): void {
    const widest = 1.05 * Math.max(this.events.header.length, 1) / this.width;
    this.perPixel = Math.min(Math.max(this.perPixel, ZOOM_LIMIT), widest);
  }

  private limit(): void {
    this.limitScale();
    const {length} = this.events.header;
    const seen = this.perPixel * this.width;
    const margin = Math.max(0.02 * seen, seen - length);
    this.begin = Math.min(Math.max(this.begin, -margin), Math.max(length - seen + margin, -margin));
  }

  later(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame((now) => {
      this.pending = false;
      this.tick(now);
      const before = performance.now();
      this.draw();
      this.frames.push(performance.now() - before);
      if (this.frames.length > 600) this.frames.shift();
    });
  }

  // Held keys move the view by the time that has passed, whatever the screen's rate.
  private tick(now: number): void {
    if (this.held.size === 0) {
      this.lastTick = 0;
      return;
    }
    const passed = this.lastTick === 0 ? 16 : Math.min(now - this.lastTick, 50);
    this.lastTick = now;
    if (this.held.has('w')) this.zoom(0.997 ** passed);
    if (this.held.has('s')) this.zoom(1.003 ** passed);
    if (this.held.has('a')) this.pan(-passed * this.width / 1200);
    if (this.held.has('d')) this.pan(passed * this.width / 1200);
    this.later();
  }

  // --- drawing

  draw(): void {
    if (this.width <= 1) return;
    const theme = currentTheme();
    const context = fitCanvas(this.canvas, this.width, this.height);
    const scroll = this.element.scrollTop;
    context.fillStyle = theme.surface;
    context.fillRect(0, 0, this.width, this.height);
    context.font = '11.5px "Report Sans", sans-serif';
    context.textBaseline = 'middle';
    this.drawGrid(context);
    for (const lane of this.lanes) {
      const top = lane.top - scroll;
      if (top > this.height || top + lane.height < 0) continue;
      context.fillStyle = theme.line;
      context.fillRect(0, top + lane.height - 1, this.width, 1);
      for (const row of lane.rows) this.drawRow(context, row, top + LANE_PAD + row.depth * LANE_ROW);
    }
    this.drawLinks(context, scroll);
    this.drawRange(context);
    this.drawRuler(context);
  }

  private ticks(): {first: number; step: number; end: number} {
    const step = niceStep(this.perPixel * 110);
    return {first: Math.ceil(this.begin / step) * step, step, end: this.begin + this.width * this.perPixel};
  }

  private drawGrid(context: CanvasRenderingContext2D): void {
    const {first, step, end} = this.ticks();
    context.fillStyle = currentTheme().grid;
    for (let time = first; time < end; time += step) {
      context.fillRect(Math.round((time - this.begin) / this.perPixel), RULER, 1, this.height);
    }
  }

  private drawRuler(context: CanvasRenderingContext2D): void {
    const theme = currentTheme();
    context.fillStyle = theme.surface;
    context.fillRect(0, 0, this.width, RULER - 1);
    context.fillStyle = theme.line;
    context.fillRect(0, RULER - 1, this.width, 1);
    const {first, step, end} = this.ticks();
    for (let time = first; time < end; time += step) {
      const x = Math.round((time - this.begin) / this.perPixel);
      context.fillStyle = theme.line;
      context.fillRect(x, RULER - 8, 1, 8);
      context.fillStyle = theme.muted;
      const value = Math.round(time / step) * step;
      context.fillText(axisTime(value, step), x + 5, RULER / 2);
    }
  }

  // Events of two pixels and more are rectangles. Of shorter ones each pixel shows the share of its
  // time that they fill, in the colour of the longest. Those of a row do not overlap, so of the events
  // that start within a pixel only the last can be a long one, and only it can reach the next pixel.
  private drawRow(context: CanvasRenderingContext2D, row: Row, y: number): void {
    const {events, perPixel, width} = this;
    const {start, duration, name, merged, busyBefore} = events;
    const height = LANE_ROW - 2;
    const first = this.firstPixel();
    const begin = first * perPixel;
    const end = begin + width * perPixel;
    // Neighbouring pixels of one colour are one rectangle.
    let runX = 0;
    let runWidth = 0;
    let runColor = '';
    let runAlpha = 0;
    const flush = () => {
      if (runWidth > 0) {
        context.globalAlpha = runAlpha;
        context.fillStyle = runColor;
        context.fillRect(runX, y, runWidth, height);
      }
      runWidth = 0;
    };
    const labels: number[] = [];
    let event = events.firstEndingAfter(begin, row.from, row.to);
    let pixel = first - 1;  // of the grid; what is left of it has been drawn
    while (event < row.to && start[event]! < end) {
      if (duration[event]! >= 2 * perPixel) {
        flush();
        const left = Math.max(Math.round(start[event]! / perPixel) - first, -2);
        const right = Math.min(Math.round(events.end(event) / perPixel) - first, width + 2);
        context.globalAlpha = this.faded(event) ? FADED : merged[event]! > 1 ? PALE : 1;
        context.fillStyle = this.colors[name[event]!]!;
        context.fillRect(left, y, right - left - (right - left > 4 ? 1 : 0), height);
        if (events.unfinished.has(event)) this.hatch(context, left, y, right - left, height);
        if (right - left > 30) labels.push(event);
        ++event;
        continue;
      }
      pixel = Math.max(pixel, Math.floor(start[event]! / perPixel));
      const pixelBegin = pixel * perPixel;
      const pixelEnd = (pixel + 1) * perPixel;
      let next = Math.max(events.firstStartingAt(pixelEnd, event, row.to), event + 1);
      if (next - 1 > event && duration[next - 1]! >= 2 * perPixel) --next;
      const last = next - 1;
      const carried = events.end(last) - pixelEnd;
      const busy = busyBefore[next]! - busyBefore[event]! - Math.max(0, pixelBegin - start[event]!) - Math.max(0, carried);
      const longest = this.longest.find(event, next);
      const color = this.colors[name[longest]!]!;
      const alpha = (this.faded(longest) ? FADED : 1) * shade(busy / perPixel);
      const x = pixel - first;
      if (runWidth > 0 && color === runColor && alpha === runAlpha && x === runX + runWidth) {
        ++runWidth;
      } else {
        flush();
        runX = x;
        runWidth = 1;
        runColor = color;
        runAlpha = alpha;
      }
      ++pixel;
      event = carried > 0 ? last : next;
    }
    flush();
    context.globalAlpha = 1;
    for (const label of labels) {
      if (this.faded(label)) continue;
      const left = Math.max((start[label]! - begin) / perPixel, 0);
      const right = Math.min((events.end(label) - begin) / perPixel, width);
      const name = brief(events.nameOf(label));
      const whole = merged[label]! > 1 ? `${merged[label]} events` : events.unfinished.has(label) ? `never finished: ${name}` : name;
      const text = fitText(context, whole, right - left - 10);
      if (text === '') continue;
      context.fillStyle = merged[label]! > 1 ? currentTheme().ink : inkOn(this.colors[events.name[label]!]!);
      context.fillText(text, left + 5, y + height / 2 + 0.5);
    }
    if (this.selected >= row.from && this.selected < row.to) this.outline(context, this.selected, y, height);
  }

  // The left edge of the view on the grid of pixels that is fixed in time.
  private firstPixel(): number {
    return Math.round(this.begin / this.perPixel);
  }

  // Stripes, and no right end: what was in flight when the recording ended.
  private hatch(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number): void {
    const {surface} = currentTheme();
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    context.strokeStyle = surface;
    context.globalAlpha *= 0.45;
    context.lineWidth = 3;
    context.beginPath();
    for (let at = Math.max(x, 0) - height; at < Math.min(x + width, this.width); at += 10) {
      context.moveTo(at, y + height);
      context.lineTo(at + height, y);
    }
    context.stroke();
    // A torn edge.
    context.globalAlpha = 1;
    context.fillStyle = surface;
    context.beginPath();
    context.moveTo(x + width + 1, y);
    for (let step = 0; step <= 6; ++step) context.lineTo(x + width + (step % 2 === 0 ? 1 : -4), y + step * height / 6);
    context.fill();
    context.restore();
  }

  private faded(event: number): boolean {
    return this.wanted !== null && this.wanted[this.events.name[event]!] === 0;
  }

  private outline(context: CanvasRenderingContext2D, event: number, y: number, height: number): void {
    const x = (this.events.start[event]! - this.begin) / this.perPixel;
    const w = Math.max(this.events.duration[event]! / this.perPixel, 2);
    context.strokeStyle = currentTheme().ink;
    context.lineWidth = 2;
    context.strokeRect(Math.max(x, -4), y - 1, Math.min(w, this.width + 8 - Math.max(x, -4)), height + 2);
  }

  private rowTop(row: number): number {
    const {track, depth} = this.events.rows[row]!;
    return this.lanes[track]!.top + LANE_PAD + depth * LANE_ROW;
  }

  // From a launch call to what it launched.
  private drawLinks(context: CanvasRenderingContext2D, scroll: number): void {
    if (this.selected < 0) return;
    const call = this.events.link[this.selected]!;
    const pairs: [number, number][] = call >= 0 ? [[call, this.selected]]
        : this.events.operationsOf(this.selected).slice(0, 200).map((op): [number, number] => [this.selected, op]);
    context.strokeStyle = currentTheme().ink;
    context.fillStyle = currentTheme().ink;
    context.lineWidth = 1.25;
    for (const [from, to] of pairs) {
      const x1 = (this.events.start[from]! + this.events.duration[from]! / 2 - this.begin) / this.perPixel;
      const x2 = (this.events.start[to]! - this.begin) / this.perPixel;
      if (Math.max(x1, x2) < -50 || Math.min(x1, x2) > this.width + 50) continue;
      const down = this.rowTop(this.events.rowOf[to]!) > this.rowTop(this.events.rowOf[from]!);
      const y1 = this.rowTop(this.events.rowOf[from]!) - scroll + (down ? LANE_ROW : 0);
      const y2 = this.rowTop(this.events.rowOf[to]!) - scroll + LANE_ROW / 2 - 1;
      const bend = Math.min(60, 12 + Math.abs(x2 - x1) / 3);
      context.beginPath();
      context.moveTo(x1, y1);
      context.bezierCurveTo(x1, y1 + (down ? bend : -bend), x2 - bend, y2, x2 - 5, y2);
      context.stroke();
      context.beginPath();
      context.moveTo(x2, y2);
      context.lineTo(x2 - 7, y2 - 4);
      context.lineTo(x2 - 7, y2 + 4);
      context.fill();
      // The other end stands out, too.
      const other = from === this.selected ? to : from;
      context.lineWidth = 1.25;
      const x = (this.events.start[other]! - this.begin) / this.perPixel;
      context.strokeRect(x, this.rowTop(this.events.rowOf[other]!) - scroll, Math.max(this.events.duration[other]! / this.perPixel, 2), LANE_ROW - 2);
    }
  }

  private drawRange(context: CanvasRenderingContext2D): void {
    if (this.range === null) return;
    const x1 = (this.range[0] - this.begin) / this.perPixel;
    const x2 = (this.range[1] - this.begin) / this.perPixel;
    context.fillStyle = currentTheme().accent;
    context.globalAlpha = 0.1;
    context.fillRect(x1, RULER, x2 - x1, this.height);
    context.globalAlpha = 0.8;
    context.fillRect(x1, RULER, 1, this.height);
    context.fillRect(x2, RULER, 1, this.height);
    context.globalAlpha = 1;
  }

  // --- input

  eventAt(x: number, y: number): number {
    const place = y + this.element.scrollTop;
    if (y < RULER) return -1;
    const lane = this.lanes.find((candidate) => place >= candidate.top && place < candidate.top + candidate.height);
    if (lane === undefined) return -1;
    const row = lane.rows[Math.floor((place - lane.top - LANE_PAD) / LANE_ROW)];
    if (row === undefined) return -1;
    const time = this.begin + x * this.perPixel;
    const near = this.events.firstEndingAfter(time - 2 * this.perPixel, row.from, row.to);
    if (near >= row.to || this.events.start[near]! > time + 2 * this.perPixel) return -1;
    const exact = this.events.firstEndingAfter(time, near, row.to);
    return exact < row.to && this.events.start[exact]! <= time ? exact : near;
  }

  private listen(): void {
    const {canvas, element} = this;
    let drag: {x: number; y: number; scroll: number; begin: number; moved: boolean; range: boolean} | null = null;
    const at = (event: MouseEvent) => {
      const box = canvas.getBoundingClientRect();
      return {x: event.clientX - box.left, y: event.clientY - box.top};
    };
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      const {x, y} = at(event);
      drag = {x, y, scroll: element.scrollTop, begin: this.begin, moved: false, range: event.shiftKey || y < RULER};
      canvas.setPointerCapture(event.pointerId);
      this.hooks.hover(-1, 0, 0);
    });
    canvas.addEventListener('pointermove', (event) => {
      const {x, y} = at(event);
      if (drag === null) {
        const found = this.eventAt(x, y);
        canvas.classList.toggle('pointing', found >= 0);
        this.hooks.hover(found, event.clientX, event.clientY);
        return;
      }
      if (Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4) drag.moved = true;
      if (!drag.moved) return;
      if (drag.range) {
        const a = this.begin + drag.x * this.perPixel;
        const b = this.begin + x * this.perPixel;
        this.range = [Math.min(a, b), Math.max(a, b)];
      } else {
        canvas.classList.add('dragging');
        this.begin = drag.begin - (x - drag.x) * this.perPixel;
        this.limit();
        element.scrollTop = drag.scroll - (y - drag.y);
        this.hooks.view();
      }
      this.later();
    });
    const release = (event: PointerEvent) => {
      if (drag === null) return;
      const {x, y} = at(event);
      if (!drag.moved) this.select(this.eventAt(x, y));
      else if (drag.range && this.range !== null) this.hooks.range(...this.range);
      drag = null;
      canvas.classList.remove('dragging');
    };
    canvas.addEventListener('pointerup', release);
    canvas.addEventListener('pointercancel', release);
    canvas.addEventListener('pointerleave', () => this.hooks.hover(-1, 0, 0));
    canvas.addEventListener('dblclick', (event) => {
      const found = this.eventAt(at(event).x, at(event).y);
      if (found < 0) return;
      const length = Math.max(this.events.duration[found]!, 1);
      this.show(this.events.start[found]! - length, this.events.end(found) + length);
    });
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      this.hooks.hover(-1, 0, 0);
      const unit = event.deltaMode === 1 ? 30 : 1;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan((event.deltaX || event.deltaY) * unit);
      else this.zoom(1.0018 ** (event.deltaY * unit), at(event).x);
    }, {passive: false});
    element.addEventListener('scroll', () => this.later());
    element.addEventListener('keydown', (event) => this.key(event));
    element.addEventListener('keyup', (event) => this.held.delete(event.key.toLowerCase()));
    element.addEventListener('blur', () => this.held.clear());
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.toLowerCase();
    if ('wasd'.includes(key) && key.length === 1) {
      this.held.add(key);
      this.later();
    } else if (key === 'f' || key === '0') {
      this.selected >= 0 && key === 'f' ? this.reveal(this.selected) : this.fit();
    } else if (key === 'arrowright' || key === 'arrowleft') {
      this.step(key === 'arrowright' ? 1 : -1);
    } else if (key === 'arrowup' || key === 'arrowdown') {
      this.stepRow(key === 'arrowdown' ? 1 : -1);
    } else if (key === 'enter' && this.selected >= 0) {
      const other = this.events.link[this.selected]! >= 0 ? this.events.link[this.selected]! : this.events.operationsOf(this.selected)[0];
      if (other !== undefined) {
        this.select(other);
        this.reveal(other);
      }
    } else if (key === 'escape') {
      this.select(-1);
    } else {
      return;
    }
    event.preventDefault();
  }

  private step(by: number): void {
    if (this.selected < 0) return this.stepRow(1);
    const row = this.events.rows[this.events.rowOf[this.selected]!]!;
    const next = this.selected + by;
    if (next < row.from || next >= row.to) return;
    this.select(next);
    this.reveal(next);
  }

  private stepRow(by: number): void {
    const {rows} = this.events;
    const time = this.selected >= 0 ? this.events.start[this.selected]! : this.begin;
    let row = this.selected >= 0 ? this.events.rowOf[this.selected]! + by : 0;
    while (row >= 0 && row < rows.length && rows[row]!.from === rows[row]!.to) row += by;
    if (row < 0 || row >= rows.length) return;
    const found = Math.min(this.events.firstEndingAfter(time, rows[row]!.from, rows[row]!.to), rows[row]!.to - 1);
    this.select(found);
    this.reveal(found);
  }
}
