// SPDX-License-Identifier: Apache-2.0
// The data of the page, as analyzer/html writes them.
import type { History } from "./history";
import { Recording, type RecordingData } from "./recording";

export type Column = ArrayLike<number> & Iterable<number>;
interface ColumnPlace {
  type: "u8" | "u16" | "u32" | "f64";
  at: number;
  count: number;
}
export type Columns<Name extends string> = Record<Name, Column>;

export interface SiteRow {
  where: string;
  bytes: number;
  share: string;
  tensors: number;
  blocks: number;
  source: string;
  modules: string;
  held_by: string;
}
export interface Process {
  pid: number;
  program: string;
  run_id: string;
  host: string;
  command_line: string[];
  options: [string, string][];
  dump_unix_ms: number;
  dump_number: number;
  rank: number;
  after_start: number;
}

export interface DumpData {
  path: string;
  process: Process;
  answer: string;
  headline: string;
  outside: string;
  versions: string;
  seen: string;
  coverage: [string, string, string, number][];
  no_module: string;
  problems: string[];
  total_bytes: number;
  total_tensors: number;
  live: string[][];
  sites: SiteRow[];
  site_count: number;
  texts: string[];
  tensors: Columns<
    | "id"
    | "bytes"
    | "storage"
    | "begin"
    | "length"
    | "shape"
    | "strides"
    | "dtype"
    | "device"
    | "category"
    | "evidence"
    | "name"
    | "names"
    | "holders"
    | "holder_count"
    | "module"
    | "site"
    | "thread"
    | "class"
    | "grad_fn"
    | "node"
    | "grad"
    | "flags"
    | "type"
    | "unknown"
    | "age"
  >;
  storages: Columns<"id" | "bytes" | "kind" | "device">;
  items: Columns<"bytes" | "owner" | "representative" | "site" | "device" | "storage">;
  graph?: unknown;
  history: History | null;
  stacks: StackColumns;
}

export interface StackColumns extends Columns<"where" | "leaf" | "module" | "source" | "id" | "parent" | "frame"> {
  frames: Columns<"native" | "function" | "file" | "line" | "object" | "source">;
}

export interface ReportData {
  schema: number;
  version: string;
  confidential: boolean;
  tensor_flags: Record<string, number>;
  dumps: DumpData[];
  not_read?: { note: string } | null;
  [part: string]: unknown; // of a page that has one: "timeline", "leaks", ...
}

function fromBase64(text: string): Uint8Array {
  const direct = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array }).fromBase64;
  if (direct) return direct(text);
  const binary = atob(text);
  const out = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) out[i] = binary.charCodeAt(i);
  return out;
}

// Every {"type", "at", "count"} becomes the column itself.
function withColumns(value: unknown, buffer: ArrayBuffer, base: number): unknown {
  if (Array.isArray(value)) {
    // Texts are most of the data and hold no column.
    if (typeof value[0] === "string") return value;
    return value.map((entry) => withColumns(entry, buffer, base));
  }
  if (value === null || typeof value !== "object") return value;
  const place = value as ColumnPlace;
  if (typeof place.at === "number" && typeof place.count === "number") {
    const kinds = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };
    return new kinds[place.type](buffer, base + place.at, place.count);
  }
  const out: Record<string, unknown> = {};
  for (const [key, entry] of Object.entries(value)) out[key] = withColumns(entry, buffer, base);
  return out;
}

export async function readData(text: string): Promise<ReportData> {
  const packed = fromBase64(text.trim());
  const stream = new Blob([packed as BlobPart]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return withColumns(head, buffer, Math.ceil((4 + length) / 8) * 8) as ReportData;
}

export interface Frame {
  native: boolean;
  function: string;
  file: string;
  line: number;
  object: string;
  source: string;
}

// Allocation sites by number, 0: no stack.
export class Stacks {
  constructor(
    private readonly columns: StackColumns,
    private readonly texts: string[],
  ) {}

  get count(): number {
    return this.columns.where.length + 1;
  }
  get frameCount(): number {
    return this.columns.frames.native.length;
  }
  where(site: number): string {
    return site === 0 ? "(no stack)" : this.texts[this.columns.where[site - 1]];
  }
  module(site: number): string {
    return site === 0 ? "" : this.texts[this.columns.module[site - 1]];
  }
  source(site: number): string {
    return site === 0 ? "" : this.texts[this.columns.source[site - 1]];
  }

  frame(number: number): Frame {
    const f = this.columns.frames,
      text = (column: Column) => this.texts[column[number]];
    return {
      native: f.native[number] === 1,
      function: text(f.function),
      file: text(f.file),
      line: f.line[number],
      object: text(f.object),
      source: text(f.source),
    };
  }

  // Numbers of frames, innermost first.
  stack(site: number): number[] {
    const frames: number[] = [],
      { parent, frame } = this.columns;
    if (site === 0) return frames;
    for (let node = this.columns.leaf[site - 1]; node !== 0; node = parent[node]) frames.push(frame[node]);
    return frames;
  }
}

// One dump, and what several pages compute of it.
export class Dump {
  readonly stacks: Stacks;
  readonly owned: Float64Array; // bytes of the storages whose oldest tensor this is: sums over tensors are right
  readonly spoken: Float64Array; // of those whose category, module and holder this tensor has
  private byId_: Map<number, number> | null = null;
  private byStorage_: Map<number, number[]> | null = null;

  constructor(
    readonly data: DumpData,
    readonly number: number,
  ) {
    const n = data.tensors.id.length,
      { bytes, owner, representative } = data.items;
    this.stacks = new Stacks(data.stacks, data.texts);
    this.owned = new Float64Array(n);
    this.spoken = new Float64Array(n);
    for (let i = 0; i < bytes.length; i++) {
      if (owner[i]) this.owned[owner[i] - 1] += bytes[i];
      if (representative[i]) this.spoken[representative[i] - 1] += bytes[i];
    }
  }

  get tensorCount(): number {
    return this.data.tensors.id.length;
  }
  text(number: number): string {
    return this.data.texts[number];
  }
  // Whether this could be read of a tensor: "shape", "bytes", "storage", "offset", ... (html/dump_data.cc). What was
  // not is no zero.
  knows(row: number, what: string): boolean {
    return !this.text(this.data.tensors.unknown[row]).split(", ").includes(what);
  }

  withId(id: number): number | undefined {
    if (!this.byId_) {
      this.byId_ = new Map();
      for (let i = 0; i < this.tensorCount; i++) this.byId_.set(this.data.tensors.id[i], i);
    }
    return this.byId_.get(id);
  }

  inStorage(storage: number): number[] {
    if (!this.byStorage_) {
      this.byStorage_ = new Map();
      const column = this.data.tensors.storage;
      for (let i = 0; i < column.length; i++) {
        const list = this.byStorage_.get(column[i]);
        if (list) list.push(i);
        else this.byStorage_.set(column[i], [i]);
      }
    }
    return this.byStorage_.get(storage) ?? [];
  }
}

export interface Holder {
  kind: string;
  text: string;
  tensor: number;
} // tensor: its row; -1: it is none

export function holdersOf(dump: Dump, row: number): Holder[] {
  return dump
    .text(dump.data.tensors.holders[row])
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [kind, text, tensor] = line.split("\t");
      return { kind, text, tensor: Number(tensor ?? 0) - 1 };
    });
}

export class Report {
  readonly dumps: Dump[];
  readonly recordings: Recording[];
  constructor(readonly data: ReportData) {
    this.dumps = data.dumps.map((dump, i) => new Dump(dump, i));
    this.recordings = ((data.timeline ?? []) as RecordingData[]).map((recording) => new Recording(recording));
  }
  // What a page shows where no dump is chosen: the failure, else the last dump. At a normal exit everything is free, or
  // no variable holds it any more.
  get first(): Dump {
    const failed = (this.data.oom as { dump: string } | null | undefined)?.dump,
      returned = (this.data.leaks as { returned: string | null } | null | undefined)?.returned;
    return (
      this.dumps.find((dump) => dump.data.path === failed) ??
      [...this.dumps].reverse().find((dump) => dump.data.total_bytes > 0 && dump.data.path !== returned) ??
      this.dumps[this.dumps.length - 1]
    );
  }
  flag(name: string): number {
    return this.data.tensor_flags[name] ?? 0;
  }
}
