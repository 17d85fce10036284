// SPDX-License-Identifier: MIT
//
// The frame of the report: head, navigation, and one page at a time, named by what follows # in the
// address. The overview needs only the JSON and is painted first; the timeline is unpacked after it.

import 'uplot/dist/uPlot.min.css';
import './style.css';

import {onThemeChange, rankNames} from './colors';
import {columnOf, readReport, readTimelineBytes, tableOf, type Report} from './data';
import {h} from './dom';
import {Events} from './events';
import {FlamePage} from './flame';
import {count, ns} from './format';
import type {Lanes} from './lanes';
import {overviewPage, QuestionPage, titleOf, type Frame} from './pages';
import {OptimizePage} from './optimize';
import {ProbePage} from './probe';
import {RooflinePage} from './roofline';
import {ThreadTracePage} from './thread_trace';
import {TimelinePage} from './timeline';
import {hideTip} from './tip';

// What tests read: when things were ready, how long frames took, what the timeline shows.
interface Marks {
  painted: number;
  unpacked: number;
  frames: number[];
  lanes: () => Lanes | null;
}

class App {
  private readonly main = h('main', {tabindex: '-1', id: 'main'});
  private readonly links = new Map<string, HTMLElement>();
  private readonly pages = new Map<string, HTMLElement>();
  private readonly questions = new Map<string, QuestionPage>();
  private timeline: TimelinePage | null = null;
  private flame: FlamePage | null = null;
  private readonly events: Promise<Events>;
  private readonly frame: Frame;
  readonly marks: Marks = {
    painted: 0, unpacked: 0, frames: [],
    lanes: () => this.timeline && this.timeline.lanes,
  };

  constructor(private readonly report: Report) {
    const kernels = tableOf(report, 'top', 'kernels');
    if (kernels) {
      const name = columnOf(kernels, 'kernel', 'name');
      rankNames(kernels.rows.map((row) => String(row[name])));
    }
    this.events = new Promise((resolve, reject) => {
      // After the first page has been painted.
      requestAnimationFrame(() => setTimeout(() => {
        readTimelineBytes().then((bytes) => {
          const events = new Events(report.timeline, bytes);
          this.marks.unpacked = performance.now();
          resolve(events);
        }, reject);
      }));
    });
    this.frame = {
      report,
      events: this.events,
      openPage: (page) => this.open(page),
      openRow: (question, value) => {
        this.open(question);
        this.questions.get(question)?.reveal(value);
      },
      highlight: (name) => void this.withTimeline((timeline) => timeline.highlight(name)),
      goTo: (begin, end) => void this.withTimeline((timeline) => timeline.goTo(begin, end)),
    };
    document.title = `${report.title} – rochound`;
    document.body.append(h('a', {class: 'skip', href: '#main', text: 'Skip to the content', on: {click: (event: Event) => {
      event.preventDefault();
      this.main.focus();
    }}}), this.head(), this.navigation(), this.main);
    addEventListener('hashchange', () => this.show());
    onThemeChange(() => {
      this.timeline?.redraw();
      this.flame?.draw();
    });
    this.show();
    requestAnimationFrame(() => setTimeout(() => this.marks.painted = performance.now()));
  }

  private head(): HTMLElement {
    const {report} = this;
    const {facts} = report;
    const fact = (value: string, what: string) => h('span', {}, h('b', {text: value}), ` ${what}`);
    return h('header', {class: 'top'}, h('span', {class: 'brand', text: 'rochound'}),
        h('span', {class: 'trace', text: report.title, title: report.sources.join('\n')}),
        h('span', {class: 'facts'}, fact(ns(facts.length), ''), fact(count(facts.gpus), facts.gpus === 1 ? 'GPU' : 'GPUs'),
            fact(count(facts.processes), facts.processes === 1 ? 'process' : 'processes'), fact(count(report.timeline.all_events), 'events')));
  }

  private navigation(): HTMLElement {
    const nav = h('nav', {'aria-label': 'Pages'});
    const link = (page: string, text: string, badge = '') => {
      const element = h('a', {href: `#${page}`}, text, badge !== '' && h('span', {class: 'badge', text: badge}));
      this.links.set(page, element);
      nav.appendChild(element);
    };
    link('overview', 'Overview');
    link('timeline', 'Timeline');
    link('flame', 'Flame graph');
    if (this.report.profile?.roofline) link('roofline', 'Roofline');
    if (this.report.profile?.thread_trace) link('instructions', 'Instructions');
    if (this.report.optimize) link('optimize', 'Optimize');
    if (this.report.probe) link('accesses', 'Accesses to memory');
    // Findings are in the overview.
    const sections = new Map<string, string[]>();
    for (const {question, section} of this.report.answers) {
      if (question !== 'findings') sections.set(section, [...sections.get(section) ?? [], question]);
    }
    for (const [title, questions] of sections) {
      const there = questions.filter((question) => this.report.answers.some((answer) =>
          answer.question === question && (question === 'health' || answer.tables.some((table) => table.rows.length > 0))));
      if (there.length === 0) continue;
      nav.appendChild(h('h2', {text: title}));
      for (const question of there) {
        link(question, titleOf(this.report, question), question === 'health' && this.report.health.length > 0 ? String(this.report.health.length) : '');
      }
    }
    return nav;
  }

  open(page: string): void {
    if (location.hash !== `#${page}`) {
      history.pushState(null, '', `#${page}`);
      this.show();
    }
  }

  private show(): void {
    hideTip();
    const wanted = decodeURIComponent(location.hash.slice(1));
    const page = this.links.has(wanted) || this.report.answers.some((answer) => answer.question === wanted) ? wanted : 'overview';
    this.links.forEach((link, name) => name === page ? link.setAttribute('aria-current', 'page') : link.removeAttribute('aria-current'));
    this.main.className = page === 'timeline' || page === 'flame' ? 'full' : '';
    let element = this.pages.get(page);
    if (element === undefined) {
      element = this.make(page);
      if (page !== 'timeline' || this.timeline !== null) this.pages.set(page, element);
    }
    this.main.replaceChildren(element);
    this.main.scrollTop = 0;
  }

  private make(page: string): HTMLElement {
    if (page === 'overview') return overviewPage(this.frame);
    if (page === 'flame') {
      this.flame = new FlamePage(this.report.flame, (name) => this.openName(name, false));
      return this.flame.element;
    }
    const {profile} = this.report;
    if (page === 'roofline' && profile?.roofline) return new RooflinePage(profile.roofline, profile.analysis, this.frame.highlight).element;
    if (page === 'instructions' && profile?.thread_trace) return new ThreadTracePage(profile.thread_trace).element;
    if (page === 'optimize' && this.report.optimize) return new OptimizePage(this.report.optimize, this.frame.highlight).element;
    if (page === 'accesses' && this.report.probe) return new ProbePage(this.report.probe).element;
    if (page === 'timeline') {
      if (this.timeline !== null) return this.timeline.element;
      void this.withTimeline(() => undefined);
      return h('p', {class: 'loading', text: 'Unpacking the timeline …'});
    }
    const made = new QuestionPage(this.frame, this.report.answers.find((answer) => answer.question === page)!);
    this.questions.set(page, made);
    return made.element;
  }

  private openName(name: string, onGpu: boolean): void {
    const question = onGpu ? 'top' : 'apis';
    this.frame.openRow(question, name);
  }

  // Opens the timeline, then does this with it.
  private async withTimeline(action: (timeline: TimelinePage) => void): Promise<void> {
    if (this.timeline === null) {
      let events: Events;
      try {
        events = await this.events;
      } catch (problem) {
        this.main.replaceChildren(h('p', {class: 'loading', text: `The timeline cannot be shown: ${String(problem)}`}));
        return;
      }
      if (this.timeline === null) {
        this.timeline = new TimelinePage(this.report, events, (name, onGpu) => this.openName(name, onGpu));
        this.marks.frames = this.timeline.lanes.frames;
        this.pages.set('timeline', this.timeline.element);
      }
      if (location.hash === '#timeline') this.show();
    }
    this.open('timeline');
    // The lanes know their width after the next layout.
    const timeline = this.timeline;
    requestAnimationFrame(() => requestAnimationFrame(() => action(timeline)));
  }
}

const app = new App(readReport());
(globalThis as unknown as {rochoundMarks: Marks}).rochoundMarks = app.marks;
