// SPDX-License-Identifier: MIT
//
// The events of the timeline in typed arrays. Events are in order of rows; those of a row do not overlap
// and are sorted, so that starts and ends both rise and a place in time is found by bisection.

import type {TimelineHeader, Track} from './data';

export interface Row {
  track: number;
  depth: number;
  from: number;
  to: number;
}

export class Events {
  readonly count: number;
  readonly start: Float64Array;
  readonly duration: Float64Array;
  readonly name: Uint32Array;
  readonly id: Float64Array;
  readonly merged: Uint32Array;   // how many events one stands for
  readonly link: Int32Array;      // of an operation: its launch call's place, or -1
  readonly shape: Uint32Array;    // of a kernel: its place in the header's shapes; 0: none is known
  readonly busyBefore: Float64Array;  // sum of durations of all events before this place
  readonly unfinished: Set<number>;
  readonly rows: Row[] = [];
  readonly rowOf: Uint32Array;
  private firstOp: Int32Array | null = null;
  private nextOp: Int32Array | null = null;

  constructor(readonly header: TimelineHeader, bytes: Uint8Array) {
    const n = header.events;
    this.count = n;
    this.unfinished = new Set(header.unfinished);
    this.start = new Float64Array(n);
    this.duration = new Float64Array(n);
    this.name = new Uint32Array(n);
    this.id = new Float64Array(n);
    this.merged = new Uint32Array(n);
    this.link = new Int32Array(n);
    this.shape = new Uint32Array(n);
    this.busyBefore = new Float64Array(n + 1);
    this.rowOf = new Uint32Array(n);
    let at = 0;
    header.tracks.forEach((track, t) => track.rows.forEach((events, depth) => {
      this.rows.push({track: t, depth, from: at, to: at + events});
      this.rowOf.fill(this.rows.length - 1, at, at + events);
      at += events;
    }));
    if (at !== n) throw new Error('the timeline\'s header does not agree with itself');
    this.decode(bytes);
  }

  // Columns one after the other, numbers of seven bits per byte. Starts count from the end of the
  // row's event before; ids and links from the event before, with the sign in the lowest bit.
  private decode(bytes: Uint8Array): void {
    let at = 0;
    const next = (): number => {
      let byte = bytes[at++]!;
      if (byte < 128) return byte;
      let value = byte & 127;
      let scale = 128;
      do {
        byte = bytes[at++]!;
        value += (byte & 127) * scale;
        scale *= 128;
      } while (byte >= 128);
      return value;
    };
    const signed = (): number => {
      const value = next();
      return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    };
    const {start, duration, busyBefore} = this;
    for (let i = 0; i < this.count; ++i) start[i] = next();
    for (let i = 0; i < this.count; ++i) duration[i] = next();
    for (let i = 0; i < this.count; ++i) this.name[i] = next();
    for (let i = 0, id = 0; i < this.count; ++i) this.id[i] = id += signed();
    for (let i = 0; i < this.count; ++i) this.merged[i] = next() + 1;
    for (let i = 0, link = 0; i < this.count; ++i) {
      link += signed();
      this.link[i] = link - 1;
    }
    for (let i = 0; i < this.count; ++i) this.shape[i] = next();
    if (at !== bytes.length) throw new Error('the timeline is damaged: its length is not what its header says');
    for (const row of this.rows) {
      for (let i = row.from, end = 0; i < row.to; ++i) {
        start[i]! += end;
        end = start[i]! + duration[i]!;
      }
    }
    for (let i = 0; i < this.count; ++i) busyBefore[i + 1] = busyBefore[i]! + duration[i]!;
  }

  trackOf(event: number): Track {
    return this.header.tracks[this.rows[this.rowOf[event]!]!.track]!;
  }

  nameOf(event: number): string {
    return this.header.names[this.name[event]!] ?? '';
  }

  end(event: number): number {
    return this.start[event]! + this.duration[event]!;
  }

  // The first event of [from, to) that ends after `time`. Most answers are near, so it gallops.
  firstEndingAfter(time: number, from: number, to: number): number {
    const {start, duration} = this;
    let step = 1;
    let low = from;
    let high = from;
    while (high < to && start[high]! + duration[high]! <= time) {
      low = high + 1;
      high += step;
      step *= 2;
    }
    if (high > to) high = to;
    while (low < high) {
      const mid = (low + high) >>> 1;
      if (start[mid]! + duration[mid]! <= time) low = mid + 1;
      else high = mid;
    }
    return low;
  }

  // The first event of [from, to) that starts at `time` or later.
  firstStartingAt(time: number, from: number, to: number): number {
    const {start} = this;
    let step = 1;
    let low = from;
    let high = from;
    while (high < to && start[high]! < time) {
      low = high + 1;
      high += step;
      step *= 2;
    }
    if (high > to) high = to;
    while (low < high) {
      const mid = (low + high) >>> 1;
      if (start[mid]! < time) low = mid + 1;
      else high = mid;
    }
    return low;
  }

  // Time of [begin, end) in which a row is busy.
  busy(row: Row, begin: number, end: number): number {
    const first = this.firstEndingAfter(begin, row.from, row.to);
    const last = this.firstStartingAt(end, first, row.to);
    if (first >= last) return 0;
    let sum = this.busyBefore[last]! - this.busyBefore[first]!;
    if (this.start[first]! < begin) sum -= begin - this.start[first]!;
    const over = this.end(last - 1) - end;
    if (over > 0) sum -= over;
    return sum;
  }

  // Time of [begin, end) in which any of the rows is busy: streams run at once.
  busyAny(rows: Row[], begin: number, end: number): number {
    if (rows.length === 1) return this.busy(rows[0]!, begin, end);
    const spans: [number, number][] = [];
    for (const row of rows) {
      const last = this.firstStartingAt(end, row.from, row.to);
      for (let i = this.firstEndingAfter(begin, row.from, row.to); i < last; ++i) {
        spans.push([Math.max(begin, this.start[i]!), Math.min(end, this.end(i))]);
      }
    }
    spans.sort((a, b) => a[0] - b[0]);
    let busy = 0;
    let reached = begin;
    for (const [from, to] of spans) {
      if (to <= reached) continue;
      busy += to - Math.max(from, reached);
      reached = to;
    }
    return busy;
  }

  // The operations that a call launched, in order.
  operationsOf(call: number): number[] {
    if (this.firstOp === null) {
      this.firstOp = new Int32Array(this.count).fill(-1);
      this.nextOp = new Int32Array(this.count).fill(-1);
      for (let i = this.count - 1; i >= 0; --i) {
        const from = this.link[i]!;
        if (from < 0) continue;
        this.nextOp[i] = this.firstOp[from]!;
        this.firstOp[from] = i;
      }
    }
    const operations = [];
    for (let i = this.firstOp[call]!; i >= 0; i = this.nextOp![i]!) operations.push(i);
    return operations;
  }

  // The next event after `event` in time, anywhere, whose name is wanted; wraps around. -1: none.
  nextNamed(wanted: Uint8Array, after: number, forward: boolean): number {
    const origin = after >= 0 ? this.start[after]! : -1;
    let best = -1;
    let wrapped = -1;
    for (let i = 0; i < this.count; ++i) {
      if (wanted[this.name[i]!] === 0 || i === after) continue;
      const time = this.start[i]!;
      const beyond = forward ? time > origin || (time === origin && i > after) : time < origin || (time === origin && i < after);
      const nearer = (old: number) => old < 0 || (forward ? time < this.start[old]! : time > this.start[old]!);
      if (beyond && nearer(best)) best = i;
      else if (nearer(wrapped)) wrapped = i;
    }
    return best >= 0 ? best : wrapped;
  }
}

// Which event of a range is the longest, in a few steps however long the range is: maxima of sixteen
// events, of sixteen of those, and so on. Those that are wanted count as longer than the others; of
// equals the first is found.
export class Longest {
  private readonly levels: Uint32Array[] = [];

  constructor(private readonly duration: Float64Array, private readonly wanted: (event: number) => boolean = () => true) {
    let below: Uint32Array | null = null;
    for (let size = duration.length; size > 16; size = this.levels.at(-1)!.length) {
      const level = new Uint32Array(Math.ceil(size / 16));
      for (let i = 0; i < level.length; ++i) {
        let best = below === null ? i * 16 : below[i * 16]!;
        for (let j = i * 16 + 1, stop = Math.min(i * 16 + 16, size); j < stop; ++j) best = this.longer(best, below === null ? j : below[j]!);
        level[i] = best;
      }
      this.levels.push(below = level);
    }
  }

  // a comes before b.
  private longer(a: number, b: number): number {
    const wanted = this.wanted(a);
    if (wanted !== this.wanted(b)) return wanted ? a : b;
    return this.duration[b]! > this.duration[a]! ? b : a;
  }

  // Of [from, to), which is not empty.
  find(from: number, to: number): number {
    let best = from;
    let at = from + 1;
    while (at < to) {
      // The largest aligned piece that starts here and ends within the range.
      let level = 0;
      let size = 1;
      while (level < this.levels.length && at % (size * 16) === 0 && at + size * 16 <= to) {
        size *= 16;
        ++level;
      }
      best = this.longer(best, level === 0 ? at : this.levels[level - 1]![at / size]!);
      at += size;
    }
    return best;
  }
}
