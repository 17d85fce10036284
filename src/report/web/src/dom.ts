// SPDX-License-Identifier: MIT
//
// The only way this page makes elements. Texts become text nodes, never markup: names of kernels
// come from somebody's program.

type Child = Node | string | number | null | undefined | false;

interface Properties {
  class?: string;
  text?: string;
  title?: string;
  style?: Record<string, string>;
  on?: Record<string, (event: any) => void>;
  [attribute: string]: unknown;
}

export function h<K extends keyof HTMLElementTagNameMap>(
    tag: K, properties: Properties = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'class') element.className = String(value);
    else if (name === 'text') element.textContent = String(value);
    else if (name === 'style') setStyle(element, value as Record<string, string>);
    else if (name === 'on') {
      for (const [event, listener] of Object.entries(value as Record<string, EventListener>)) {
        element.addEventListener(event, listener);
      }
    } else element.setAttribute(name, value === true ? '' : String(value));
  }
  add(element, ...children);
  return element;
}

// The same for pictures.
export function svg(tag: string, attributes: Record<string, string | number> = {}, ...children: (Node | string)[]): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  add(element, ...children);
  return element;
}

// A name that may be too long for its place: its end stays in sight. The whole is in the title.
export function midName(text: string): HTMLElement {
  const tail = text.length > 28 ? Math.min(14, Math.floor(text.length / 3)) : 0;
  if (tail === 0) return h('span', {class: 'mid'}, h('span', {text}));
  return h('span', {class: 'mid'}, h('span', {text: text.slice(0, text.length - tail)}), h('span', {text: text.slice(-tail)}));
}

export function add(parent: Node, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

// By way of the object model: the page's policy forbids style attributes.
export function setStyle(element: HTMLElement, style: Record<string, string>): void {
  for (const [name, value] of Object.entries(style)) element.style.setProperty(name, value);
}

export function clear(element: Element): void {
  element.replaceChildren();
}

export function button(label: string, onclick: () => void, properties: Properties = {}): HTMLButtonElement {
  return h('button', {type: 'button', text: label, on: {click: onclick}, ...properties});
}

// A canvas as large as its box in the screen's own pixels; the context is scaled to CSS pixels.
export function fitCanvas(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  const w = Math.max(1, Math.round(width * ratio));
  const hgt = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w || canvas.height !== hgt) {
    canvas.width = w;
    canvas.height = hgt;
    setStyle(canvas, {width: `${width}px`, height: `${height}px`});
  }
  const context = canvas.getContext('2d', {alpha: true})!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
