// SPDX-License-Identifier: MIT
//
// The one tooltip of the page.

import {h, setStyle} from './dom';

let tip: HTMLElement | null = null;

export function showTip(x: number, y: number, title: string, lines: string[]): void {
  if (tip === null) {
    tip = h('div', {class: 'tip', role: 'tooltip'});
    document.body.appendChild(tip);
  }
  tip.replaceChildren(h('b', {text: title.length > 300 ? `${title.slice(0, 300)}…` : title}), ...lines.map((text) => h('span', {text})));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(x + 14, window.innerWidth - box.width - 10);
  const top = y + 18 + box.height > window.innerHeight - 6 ? y - box.height - 12 : y + 18;
  setStyle(tip, {left: `${Math.max(6, left)}px`, top: `${Math.max(6, top)}px`});
}

export function hideTip(): void {
  if (tip !== null) tip.hidden = true;
}
