// SPDX-License-Identifier: MIT
//
// What the C++ side embeds: one JSON with everything small, and the timeline as packed columns.
// src/report/report.cpp writes it; docs/decisions/report-data.md says why it has this shape.

import type {OptimizeJournal} from './optimize';
import type {ProbeReport} from './probe';
import type {Analysis, Roofline} from './roofline';
import type {ThreadTraces} from './thread_trace';

export type Unit = 'none' | 'id' | 'ns' | 'time' | 'bytes' | 'bytes_per_second' | 'per_second' | 'percent' | 'ratio';
export type Cell = string | number | null;

export interface Column {
  name: string;
  unit: Unit;
}

export interface Table {
  id: string;
  title: string;
  columns: Column[];
  rows: Cell[][];
  left_out: number;  // rows of the answer that are not in the report
}

export interface Answer {
  question: string;
  section: string;
  title: string;
  lead: string;   // what the page is about, in a sentence
  notes: string[];
  tables: Table[];
}

export interface Track {
  group: string;
  title: string;
  kind: 'gpu' | 'thread';
  gpu: number;
  note: string;    // of a stream: its handle and queues
  rows: number[];  // events of each row
}

// Of a kernel: work items of its grid and of a workgroup, bytes of LDS.
export interface Shape {
  grid: [number, number, number];
  workgroup: [number, number, number];
  lds: number;
}

export interface TimelineHeader {
  events: number;
  all_events: number;  // before thinning
  quantum: number;     // neighbours closer than this were merged; 0: nothing was
  length: number;      // from the first event to the last, pauses of the recording included
  names: string[];
  shapes: Shape[];       // the first stands for none
  unfinished: number[];  // events that had not ended when the recording did
  tracks: Track[];
}

export interface FlameNodes {
  names: string[];
  parent: number[];
  name: number[];
  calls: number[];  // of its own; a function has none
  below: number[];  // with those below, drawn or not
  host: number[];
  gpu: number[];
  folded: number;  // calls on paths that are too small to be seen
}

// The files of rochound profile; null for what is not there.
export interface Profile {
  roofline: Roofline | null;
  analysis: Analysis | null;
  thread_trace: ThreadTraces | null;
}

export interface Report {
  profile: Profile | null;
  optimize: OptimizeJournal | null;
  probe: ProbeReport | null;  // of rochound probe -a report
  version: number;
  title: string;
  sources: string[];
  health: string[];  // what is not clean, in words
  facts: {length: number; calls: number; ops: number; processes: number; gpus: number; layers: string[]};
  answers: Answer[];
  timeline: TimelineHeader;
  flame: FlameNodes;
}

function embedded(id: string): string {
  const element = document.getElementById(id);
  const text = element?.textContent ?? '';
  element?.remove();  // megabytes that nobody needs twice
  return text;
}

// Numbers that name something are not counted: no commas in them.
const NAMING = /(^|_)(pid|tid|id|gpu|queue|rank|turn)$/;

export function readReport(): Report {
  const report = JSON.parse(embedded('report-data')) as Report;
  for (const answer of report.answers) {
    for (const column of answer.tables.flatMap((table) => table.columns)) {
      if (column.unit === 'none' && NAMING.test(column.name)) column.unit = 'id';
    }
  }
  return report;
}

export async function readTimelineBytes(): Promise<Uint8Array> {
  const text = embedded('report-timeline').trim();
  const packed = fromBase64(text);
  const stream = new Blob([packed as BlobPart]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function fromBase64(text: string): Uint8Array {
  const modern = (Uint8Array as unknown as {fromBase64?: (text: string) => Uint8Array}).fromBase64;
  if (modern) return modern.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export const answerOf = (report: Report, question: string): Answer | undefined =>
    report.answers.find((answer) => answer.question === question);

export function tableOf(report: Report, question: string, id?: string): Table | undefined {
  const answer = answerOf(report, question);
  return id === undefined ? answer?.tables[0] : answer?.tables.find((table) => table.id === id);
}

// The place of the first of these columns that the table has, or -1.
export function columnOf(table: Table, ...names: string[]): number {
  for (const name of names) {
    const place = table.columns.findIndex((column) => column.name.toLowerCase() === name);
    if (place >= 0) return place;
  }
  return -1;
}
