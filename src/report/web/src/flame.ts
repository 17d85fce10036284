// SPDX-License-Identifier: MIT
//
// The flame graph of call stacks, drawn from the top. A path of calls is one box; its width is the
// time it took, on the host (from start to end, waiting included) or on the GPU.

import {callColor, currentTheme, inkOn} from './colors';
import type {FlameNodes} from './data';
import {button, fitCanvas, h} from './dom';
import {count, fitText, ns, percent} from './format';
import {hideTip, showTip} from './tip';

const ROW = 22;

type Measure = 'host' | 'gpu' | 'calls';

interface Box {
  node: number;
  x: number;
  y: number;
  width: number;
}

export class FlamePage {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly box: HTMLElement;
  private readonly path: HTMLElement;
  private readonly children: number[][];
  private readonly buttons = new Map<Measure, HTMLButtonElement>();
  private readonly totals: Record<Measure, Float64Array>;
  private measure: Measure = 'host';
  private focus = 0;   // the node that fills the width; 0 is the root
  private chosen = 0;
  private word = '';
  private boxes: Box[] = [];

  constructor(private readonly nodes: FlameNodes, private readonly openRow: (name: string) => void) {
    const n = nodes.parent.length;
    this.children = Array.from({length: n}, () => []);
    for (let i = 1; i < n; ++i) this.children[nodes.parent[i]!]!.push(i);
    // The root is all threads together. A box is never smaller than its children.
    const total = (own: number[]) => {
      const sums = Float64Array.from(own);
      for (let i = n - 1; i > 0; --i) {
        let below = 0;
        for (const child of this.children[i]!) below += sums[child]!;
        sums[i] = Math.max(sums[i]!, below);
      }
      sums[0] = this.children[0]!.reduce((sum, child) => sum + sums[child]!, 0);
      return sums;
    };
    this.totals = {host: total(nodes.host), gpu: total(nodes.gpu), calls: Float64Array.from(nodes.below)};
    for (const children of this.children) children.sort((a, b) => nodes.host[b]! - nodes.host[a]!);

    this.canvas = h('canvas', {'aria-hidden': 'true'});
    this.box = h('div', {
      class: 'flame-box', tabindex: '0', role: 'application', 'aria-roledescription': 'flame graph',
      'aria-label': 'Flame graph of call stacks. Arrow keys move between calls, Enter widens one, Escape goes back.',
    }, this.canvas);
    this.path = h('div', {class: 'details', 'aria-live': 'polite'});
    const measures = h('div', {class: 'segmented', role: 'group', 'aria-label': 'Width shows'});
    const labels: [Measure, string][] = [['host', 'Host time'], ['gpu', 'GPU time'], ['calls', 'Calls']];
    for (const [measure, label] of labels) {
      const choice = button(label, () => this.choose(measure), {'aria-pressed': String(measure === 'host')});
      this.buttons.set(measure, choice);
      measures.appendChild(choice);
    }
    const search = h('input', {
      class: 'filter', type: 'search', placeholder: 'Find a call', 'aria-label': 'Find calls by name',
      on: {input: (event: Event) => {
        this.word = (event.target as HTMLInputElement).value.trim().toLowerCase();
        this.draw();
      }},
    });
    this.element = h('div', {class: 'stage'},
        h('div', {class: 'stage-tools'}, h('h1', {text: 'Call stacks'}), measures, search,
            button('Everything', () => this.widen(0), {class: 'chip'}),
            h('span', {class: 'keys'}, h('span', {text: 'Host time is from start to end, waiting included. Click a box to widen it'}))),
        nodes.folded > 0 ? h('div', {class: 'thin', text: `${count(nodes.folded)} calls are on paths too small to be seen and are not drawn.`}) : h('div'),
        this.box, this.path);
    this.listen();
    this.describe(0);
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  draw(): void {
    const width = this.box.clientWidth - 32;
    if (width < 50) return;
    this.boxes = [];
    const sums = this.totals[this.measure];
    const ancestors: number[] = [];
    for (let node = this.focus; node !== 0; node = this.nodes.parent[node]!) ancestors.unshift(node);
    ancestors.unshift(0);
    ancestors.forEach((node, depth) => this.boxes.push({node, x: 0, y: depth * ROW, width}));
    const whole = sums[this.focus]!;
    const place = (node: number, x: number, depth: number) => {
      for (const child of this.children[node]!) {
        const w = whole > 0 ? sums[child]! / whole * width : 0;
        if (w >= 0.6) {
          this.boxes.push({node: child, x, y: depth * ROW, width: w});
          place(child, x, depth + 1);
        }
        x += w;
      }
    };
    place(this.focus, 0, ancestors.length);
    const height = this.boxes.reduce((most, box) => Math.max(most, box.y + ROW), ROW) + 4;
    const context = fitCanvas(this.canvas, width, height);
    const theme = currentTheme();
    context.clearRect(0, 0, width, height);
    context.font = '12px "Report Sans", sans-serif';
    context.textBaseline = 'middle';
    for (const box of this.boxes) {
      const name = this.nameOf(box.node);
      const miss = this.word !== '' && !name.toLowerCase().includes(this.word);
      const color = box.node === 0 ? (theme.line.startsWith('#') ? theme.line : '#cccccc') : callColor(name);
      context.globalAlpha = miss ? 0.25 : ancestors.includes(box.node) && box.node !== this.focus ? 0.6 : 1;
      context.fillStyle = color;
      context.fillRect(box.x, box.y, Math.max(box.width - 1, 0.6), ROW - 2);
      const text = fitText(context, name, box.width - 10);
      if (text !== '') {
        context.fillStyle = inkOn(color);
        context.fillText(text, box.x + 6, box.y + ROW / 2 - 0.5);
      }
      context.globalAlpha = 1;
      if (box.node === this.chosen && box.node !== 0) {
        context.strokeStyle = theme.ink;
        context.lineWidth = 1.5;
        context.strokeRect(box.x + 0.75, box.y + 0.75, Math.max(box.width - 2.5, 1), ROW - 3.5);
      }
    }
  }

  private nameOf(node: number): string {
    return node === 0 ? 'all threads' : this.nodes.names[this.nodes.name[node]!] ?? '';
  }

  // Functions of stacks make calls; they are none.
  private callsOf(node: number): number {
    return this.nodes.calls[node]! > 0 ? this.nodes.calls[node]! : this.totals.calls[node]!;
  }

  private callsLabel(node: number): string {
    return this.nodes.calls[node]! > 0 ? 'Calls' : 'Calls below';
  }

  private choose(measure: Measure): void {
    this.measure = measure;
    this.buttons.forEach((choice, key) => choice.setAttribute('aria-pressed', String(key === measure)));
    this.draw();
  }

  private widen(node: number): void {
    this.focus = node;
    this.chosen = node;
    this.describe(node);
    this.draw();
  }

  private describe(node: number): void {
    const item = (label: string, value: string) => h('div', {}, h('dt', {text: label}), h('dd', {text: value}));
    let inner = 0;
    for (const child of this.children[node]!) inner += this.totals.host[child]!;
    const own = Math.max(0, this.totals.host[node]! - inner);
    const list = h('dl', {}, item('Host time', `${ns(this.totals.host[node]!)} (${percent(this.totals.host[node]!, this.totals.host[0]!)})`),
        item('of its own', ns(node === 0 ? 0 : own)), item('GPU time launched', ns(this.totals.gpu[node]!)),
        item(this.callsLabel(node), count(this.callsOf(node))));
    const links = h('div', {class: 'links'});
    if (node !== 0) links.appendChild(button('Show in its table', () => this.openRow(this.nameOf(node)), {class: 'chip'}));
    this.path.replaceChildren(h('h2', {text: this.nameOf(node)}), list, links);
  }

  private at(event: MouseEvent): Box | undefined {
    const bounds = this.canvas.getBoundingClientRect();
    const x = event.clientX - bounds.left;
    const y = event.clientY - bounds.top;
    return this.boxes.find((box) => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + ROW);
  }

  private listen(): void {
    this.canvas.addEventListener('mousemove', (event) => {
      const box = this.at(event);
      if (box === undefined) return hideTip();
      const total = this.totals.host[box.node]!;
      showTip(event.clientX, event.clientY, this.nameOf(box.node), [
        `host ${ns(total)} (${percent(total, this.totals.host[0]!)}), GPU ${ns(this.totals.gpu[box.node]!)}`,
        `${this.callsLabel(box.node)}: ${count(this.callsOf(box.node))}`,
      ]);
    });
    this.canvas.addEventListener('mouseleave', hideTip);
    this.canvas.addEventListener('click', (event) => {
      const box = this.at(event);
      if (box !== undefined) this.widen(box.node);
    });
    this.box.addEventListener('keydown', (event) => {
      const parent = this.nodes.parent[this.chosen]!;
      const siblings = this.chosen === 0 ? [0] : this.children[parent]!;
      const place = siblings.indexOf(this.chosen);
      const target = event.key === 'ArrowDown' ? this.children[this.chosen]![0]
                     : event.key === 'ArrowUp' && this.chosen !== 0 ? parent
                     : event.key === 'ArrowRight' ? siblings[place + 1]
                     : event.key === 'ArrowLeft' ? siblings[place - 1] : undefined;
      if (event.key === 'Enter') this.widen(this.chosen);
      else if (event.key === 'Escape') this.widen(0);
      else if (target !== undefined) {
        this.chosen = target;
        this.describe(target);
        this.draw();
      } else return;
      event.preventDefault();
    });
  }
}
