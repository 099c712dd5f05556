// SPDX-License-Identifier: Apache-2.0
// A recording of the page: what was alive by allocation site at its moments (analyzer/html/state_over_time.h).
import { Stacks, type Column, type Columns, type Report, type StackColumns } from "./data";
import { duration } from "./format";
import type { Params } from "./router";

export interface DeviceOverTime {
  device: string;
  peak_bytes: number;
  highest: Column;
  highest_at: Column;
  categories: { names: string[]; bytes: Column[]; inferred: Column };
  reserved: {
    bytes: Column;
    free: Column;
    peak: number;
    moments: { at: number; reserved: number; segments: number; free: number; largest: number; fragmentation: number }[];
  } | null;
  changes: Columns<"end" | "site" | "bytes">;
  made: Columns<"end" | "site" | "bytes" | "count">;
}
export interface Spike {
  bytes: number;
  begin: number;
  at: number;
  end: number;
  step: number | null;
  site: number;
  parts: { site: number; bytes: number }[];
}
export interface RecordingData {
  path: string;
  program: string;
  pid: number;
  no_module: string;
  run_id: string;
  text: string;
  begin: number;
  end: number;
  parts: number;
  events: number;
  lost: number;
  ended: boolean;
  problems: string[];
  device: string;
  lifetimes: { counts: number[]; bytes: number[] };
  steps: Columns<"number" | "begin" | "end" | "allocations" | "bytes" | "live" | "peak" | "unusual"> | null;
  churn: Columns<"site" | "allocations" | "bytes" | "temporary" | "at_peak" | "at_end">;
  spikes: Spike[];
  devices: DeviceOverTime[];
  stacks: StackColumns;
  texts: string[];
}

// Parts first to last, both included.
export interface Range {
  first: number;
  last: number;
}
export interface Chosen {
  recording: Recording;
  device: DeviceOverTime;
  range: Range;
}

// Moments by number.
export const beginOf = (part: number) => 2 * part;
export const peakOf = (part: number) => 2 * part + 1;
export const endOf = (part: number) => 2 * part + 2;

export interface Grouping {
  names: string[];
  of: Uint32Array;
} // of: the group of each site

export class Recording {
  readonly stacks: Stacks;
  private readonly groupings = new Map<string, Grouping>();

  constructor(readonly data: RecordingData) {
    this.stacks = new Stacks(data.stacks, data.texts);
  }

  get partLength(): number {
    return Math.max(1e-9, (this.data.end - this.data.begin) / this.data.parts);
  }
  beginAt(part: number): number {
    return this.data.begin + part * this.partLength;
  }
  partAt(seconds: number): number {
    return Math.max(0, Math.min(this.data.parts - 1, Math.floor((seconds - this.data.begin) / this.partLength)));
  }

  // The parts that touch this time.
  rangeOf(from: number, to: number): Range {
    const first = this.partAt(from + this.partLength * 1e-6),
      last = this.partAt(to - this.partLength * 1e-6);
    return { first: Math.min(first, last), last: Math.max(first, last) };
  }

  grouping(by: string): Grouping {
    let known = this.groupings.get(by);
    if (known) return known;
    const numbers = new Map<string, number>(),
      of = new Uint32Array(this.stacks.count);
    for (let site = 0; site < of.length; site++) {
      const key = by === "module" ? this.stacks.module(site) || this.data.no_module : this.siteName(site);
      if (!numbers.has(key)) numbers.set(key, numbers.size);
      of[site] = numbers.get(key)!;
    }
    this.groupings.set(by, (known = { names: [...numbers.keys()], of }));
    return known;
  }
  // As `tensorscope timeline` names a place.
  siteName(site: number): string {
    const module = this.stacks.module(site);
    return this.stacks.where(site) + (module ? `  [${module}]` : "");
  }

  highestPart(device: DeviceOverTime, { first, last }: Range): number {
    let highest = first;
    for (let part = first; part <= last; part++) if (device.highest[part] > device.highest[highest]) highest = part;
    return highest;
  }

  // Live bytes of each site at these moments, which ascend.
  states(device: DeviceOverTime, moments: number[]): Float64Array[] {
    const { end, site, bytes } = device.changes,
      live = new Float64Array(this.stacks.count),
      out: Float64Array[] = [];
    let i = 0;
    for (const moment of moments) {
      for (const until = end[moment]; i < until; i++) live[site[i]] = bytes[i];
      out.push(live.slice());
    }
    return out;
  }

  // Allocated bytes and allocations of each site.
  made(device: DeviceOverTime, { first, last }: Range): { bytes: Float64Array; counts: Float64Array } {
    const { end, site, bytes, count } = device.made,
      sums = new Float64Array(this.stacks.count),
      counts = new Float64Array(this.stacks.count);
    for (let i = first === 0 ? 0 : end[first - 1]; i < end[last]; i++) {
      sums[site[i]] += bytes[i];
      counts[site[i]] += count[i];
    }
    return { bytes: sums, counts };
  }

  // Of each part its highest moment: bytes of each layer. `layerOf`: of a site.
  layers(device: DeviceOverTime, range: Range, layerOf: ArrayLike<number>, layers: number): Float64Array[] {
    const { end, site, bytes } = device.changes,
      live = new Float64Array(this.stacks.count),
      sums = new Float64Array(layers);
    const out = Array.from({ length: layers }, () => new Float64Array(range.last - range.first + 1));
    let i = 0;
    for (let part = range.first; part <= range.last; part++) {
      for (const until = end[peakOf(part)]; i < until; i++) {
        sums[layerOf[site[i]]] += bytes[i] - live[site[i]];
        live[site[i]] = bytes[i];
      }
      for (let layer = 0; layer < layers; layer++) out[layer][part - range.first] = sums[layer];
    }
    return out;
  }

  // The step that goes on at this time; -1: none.
  stepAt(seconds: number): number {
    const steps = this.data.steps;
    if (!steps || steps.begin.length === 0 || seconds < steps.begin[0]) return -1;
    let low = 0,
      high = steps.begin.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (steps.begin[middle] <= seconds) low = middle;
      else high = middle;
    }
    return low;
  }
}

// What "rec", "on", "from" and "to" of the address name.
export function chosenRange(report: Report, params: Params): Chosen | null {
  const recording = report.recordings[Number(params.get("rec") ?? 0)] ?? report.recordings[0];
  const devices = recording?.data.devices ?? [];
  const device =
    devices.find((each) => each.device === params.get("on")) ??
    devices.find((each) => each.device === recording.data.device) ??
    devices[0];
  if (!device) return null;
  const time = (key: string, otherwise: number) =>
    params.has(key) && Number.isFinite(Number(params.get(key))) ? Number(params.get(key)) : otherwise;
  return {
    recording,
    device,
    range: recording.rangeOf(time("from", recording.data.begin), time("to", recording.data.end)),
  };
}

export const isWhole = (recording: Recording, range: Range) =>
  range.first === 0 && range.last === recording.data.parts - 1;

export function rangeText({ recording, device, range }: Chosen): string {
  const on = recording.data.devices.length > 1 ? ` on ${device.device}` : "";
  if (isWhole(recording, range)) return `of the whole recording${on}`;
  return `from ${duration(recording.beginAt(range.first))} to ${duration(recording.beginAt(range.last + 1))}${on}`;
}
