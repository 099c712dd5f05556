// SPDX-License-Identifier: Apache-2.0
// Flame graph of stacks: the width of a frame is the live bytes that were allocated below it. Drawn on a canvas: only
// boxes that are
// wide enough to be seen are laid out.
import { Boxes, colourOf, type Box } from "./canvas";
import { amount, h, plainTable } from "./dom";
import type { Dump, Stacks } from "./data";
import { bytes, percent, signedBytes } from "./format";
import { go, link, type Shown } from "./router";
import { beginOf, chosenRange, endOf, isWhole, peakOf, rangeText } from "./recording";

export interface Flame {
  name: string;
  source: string;
  native: boolean;
  bytes: number;
  before: number;
  children: Map<string, Flame>;
  path: string;
}
const ROW = 20,
  THINNEST = 0.4,
  MOST_ROWS = 400;
const KINDS = ["merged", "Python", "native"];

const fresh = (name: string, path: string, native = false, source = ""): Flame => ({
  name,
  source,
  native,
  bytes: 0,
  before: 0,
  children: new Map(),
  path,
});

// Bytes by allocation site.
export interface Sums {
  stacks: Stacks;
  bytes: ArrayLike<number>;
}

export function liveSums(dump: Dump): Sums {
  const out = new Float64Array(dump.stacks.count),
    { site, bytes: size } = dump.data.items;
  for (let i = 0; i < site.length; i++) out[site[i]] += size[i];
  return { stacks: dump.stacks, bytes: out };
}

function add(
  root: Flame,
  { stacks, bytes: sums }: Sums,
  kind: string,
  inverted: boolean,
  field: "bytes" | "before",
): void {
  const names: { text: string; native: boolean; source: string }[] = [];
  for (let i = 0; i < stacks.frameCount; i++) {
    const frame = stacks.frame(i);
    const where = frame.file ? `${frame.file.split("/").pop()}${frame.line ? `:${frame.line}` : ""}` : frame.object;
    names.push({ text: `${frame.function} ${where}`.trim(), native: frame.native, source: frame.source });
  }
  for (let site = 0; site < sums.length; site++) {
    if (sums[site] === 0) continue;
    let frames = stacks.stack(site);
    if (kind !== "merged") frames = frames.filter((number) => names[number].native === (kind === "native"));
    if (!inverted) frames.reverse();
    let node = root;
    node[field] += sums[site];
    if (frames.length === 0) {
      let child = node.children.get("(no stack)");
      if (!child) node.children.set("(no stack)", (child = fresh("(no stack)", String(node.children.size))));
      child[field] += sums[site];
    }
    for (const number of frames.slice(0, MOST_ROWS)) {
      const { text, native, source } = names[number];
      let child = node.children.get(text);
      if (!child)
        node.children.set(
          text,
          (child = fresh(text, `${node.path}${node.path ? "." : ""}${node.children.size}`, native, source)),
        );
      child[field] += sums[site];
      node = child;
    }
  }
}

export function flameOf(now: Sums, before: Sums | null, kind: string, inverted: boolean): Flame {
  const root = fresh("all", "");
  add(root, now, kind, inverted, "bytes");
  if (before) add(root, before, kind, inverted, "before");
  return root;
}

function at(root: Flame, path: string): Flame[] {
  const trail = [root];
  for (const index of path === "" ? [] : path.split(".")) {
    const next = [...trail[trail.length - 1].children.values()].find((child) => child.path.split(".").pop() === index);
    if (!next) break;
    trail.push(next);
  }
  return trail;
}

// Blue: less than before, red: more; grey: the same. Also told by the texts.
function differenceColour(now: number, before: number): string {
  const share = (now - before) / Math.max(now, before, 1);
  if (Math.abs(share) < 0.01) return "#d8d8d8";
  const strength = 0.35 + 0.65 * Math.min(1, Math.abs(share)),
    mix = (from: number, to: number) => Math.round(from + (to - from) * strength);
  return share > 0
    ? `rgb(${mix(240, 226)},${mix(225, 106)},${mix(220, 84)})`
    : `rgb(${mix(220, 94)},${mix(228, 152)},${mix(240, 220)})`;
}

export function flameDrawing(
  root: Flame,
  path: string,
  difference: boolean,
  open: (path: string) => void,
  what = "live bytes",
): HTMLElement {
  const trail = at(root, path);
  const weight = (flame: Flame) => (difference ? Math.max(flame.bytes, flame.before) : flame.bytes);
  const total = weight(root);
  const tell = (flame: Flame) =>
    `${flame.name}: ` +
    (difference
      ? `${bytes(flame.before)} -> ${bytes(flame.bytes)}, ${signedBytes(flame.bytes - flame.before)}`
      : `${bytes(flame.bytes)} (${percent(flame.bytes, total)})`) +
    (flame.source ? `    ${flame.source}` : "");
  const boxes = new Boxes<Flame>(
    difference ? "flame graph of what changed" : `flame graph of ${what}`,
    (width) => {
      const out: Box<Flame>[] = [];
      const put = (flame: Flame, x: number, w: number, row: number) =>
        out.push({
          x,
          y: row * ROW,
          w,
          h: ROW - 1,
          label: flame.name,
          data: flame,
          fill: difference
            ? differenceColour(flame.bytes, flame.before)
            : flame.native
              ? "#c9c3ba"
              : colourOf(flame.name.replace(/:\d+$/, "")),
        });
      trail.forEach((flame, i) => put(flame, 0, width, i));
      let rows = trail.length,
        level: { flame: Flame; x: number; w: number }[] = [{ flame: trail[trail.length - 1], x: 0, w: width }];
      while (level.length > 0) {
        const next: typeof level = [];
        for (const { flame, x, w } of level) {
          let left = x;
          const children = [...flame.children.values()].sort((a, b) => weight(b) - weight(a));
          const sum = Math.max(
            weight(flame),
            children.reduce((all, child) => all + weight(child), 0),
          );
          for (const child of children) {
            const wide = sum > 0 ? (w * weight(child)) / sum : 0;
            if (wide >= THINNEST) {
              put(child, left, wide, rows);
              next.push({ flame: child, x: left, w: wide });
            }
            left += wide;
          }
        }
        if (next.length > 0) rows++;
        level = next;
      }
      return { boxes: out, height: rows * ROW + 2 };
    },
    tell,
    (flame) => open(flame.path),
  );
  queueMicrotask(() => boxes.draw());
  return boxes.element;
}

export function flameTable(root: Flame, difference: boolean): HTMLElement {
  // Every function once, with what lies below its outermost calls.
  const sums = new Map<string, { now: number; before: number }>();
  const walk: { flame: Flame; above: Set<string> }[] = [{ flame: root, above: new Set() }];
  while (walk.length > 0) {
    const { flame, above } = walk.pop()!;
    let below = above;
    if (flame !== root && !above.has(flame.name)) {
      const sum = sums.get(flame.name) ?? { now: 0, before: 0 };
      sum.now += flame.bytes;
      sum.before += flame.before;
      sums.set(flame.name, sum);
      below = new Set(above).add(flame.name);
    }
    for (const child of flame.children.values()) walk.push({ flame: child, above: below });
  }
  const rows = [...sums]
    .sort(([, a], [, b]) => (difference ? Math.abs(b.now - b.before) - Math.abs(a.now - a.before) : b.now - a.now))
    .slice(0, 30);
  return difference
    ? plainTable(
        ["before", "now", "change", "frame"],
        rows.map(([name, sum]) => [
          amount(sum.before, bytes(sum.before)),
          amount(sum.now, bytes(sum.now)),
          amount(sum.now - sum.before, signedBytes(sum.now - sum.before)),
          name,
        ]),
        [0, 1, 2],
      )
    : plainTable(
        ["bytes", "%", "frame"],
        rows.map(([name, sum]) => [amount(sum.now, bytes(sum.now)), percent(sum.now, root.bytes), name]),
        [0, 1],
      );
}

interface Subject {
  name: string;
  what: string;
  now: Sums;
  before: Sums | null;
}

// What a flame graph can be of: a dump, or a recording or a range of it.
function subjects({ report, dump, params }: Shown): Map<string, () => Subject> {
  const out = new Map<string, () => Subject>();
  if (dump)
    out.set("live", () => ({ name: `live in ${dump.data.path}`, what: "live", now: liveSums(dump), before: null }));
  const chosen = chosenRange(report, params);
  if (!chosen) return out;
  const { recording, device, range } = chosen,
    { stacks } = recording,
    when = rangeText(chosen);
  const highest = recording.highestPart(device, range);
  const at = (...moments: number[]) => recording.states(device, moments).map((bytes) => ({ stacks, bytes }));
  out.set("peak", () => ({
    name: `live at the peak ${when}`,
    what: "live at the peak",
    now: at(peakOf(highest))[0],
    before: null,
  }));
  out.set("made", () => ({
    name: `allocated ${when}`,
    what: "allocated",
    now: { stacks, bytes: recording.made(device, range).bytes },
    before: null,
  }));
  out.set("grown", () => {
    const [before, now] = at(beginOf(range.first), endOf(range.last));
    return { name: `growth ${when}`, what: "live at the end", now, before };
  });
  if (device.device === recording.data.device && isWhole(recording, range)) {
    const { site, temporary } = recording.data.churn,
      bytes = new Float64Array(stacks.count);
    for (let i = 0; i < site.length; i++) bytes[site[i]] += temporary[i];
    out.set("temporary", () => ({
      name: `temporary ${when}`,
      what: recording.data.steps ? "freed in the step that allocated it" : "freed within 10 ms",
      now: { stacks, bytes },
      before: null,
    }));
  }
  return out;
}
const SUBJECT_NAMES: Record<string, string> = {
  live: "live memory of the dump",
  peak: "peak over time",
  made: "allocated over time (churn)",
  temporary: "temporaries",
  grown: "growth: begin to end",
};

export function flamePage(place: HTMLElement, shown: Shown): void {
  const { params } = shown,
    all = subjects(shown);
  const of = all.has(params.get("of") ?? "") ? params.get("of")! : [...all.keys()][0];
  const kind = KINDS.includes(params.get("kind") ?? "") ? params.get("kind")! : "merged",
    inverted = params.get("inverted") === "1";
  const now = { of, kind, inverted: inverted ? "1" : "" };
  const set = (values: Record<string, string>) => go("flame", { ...now, at: params.get("at") ?? "", ...values });
  const subject = all.get(of)!(),
    difference = subject.before !== null;
  const root = flameOf(subject.now, subject.before, kind, inverted);
  const choice = (label: string, key: string, values: string[], current: string, text: (value: string) => string) =>
    h(
      "label",
      {},
      label,
      " ",
      h(
        "select",
        { onchange: (event: Event) => set({ [key]: (event.target as HTMLSelectElement).value, at: "" }) },
        values.map((each) => h("option", { value: each, selected: each === current }, text(each))),
      ),
    );
  place.append(
    h("h2", {}, "Flame graph"),
    h(
      "div",
      { className: "tools" },
      all.size > 1 && choice("of", "of", [...all.keys()], of, (each) => SUBJECT_NAMES[each]),
      choice("frames", "kind", KINDS, kind, (each) => each),
      h(
        "label",
        {},
        h("input", {
          type: "checkbox",
          checked: inverted,
          onchange: (event: Event) => set({ inverted: (event.target as HTMLInputElement).checked ? "1" : "", at: "" }),
        }),
        " inverted (allocating function first)",
      ),
      params.get("at") && link("flame", now, "all"),
      h(
        "output",
        {},
        `${subject.what}: ${bytes(root.bytes)}${difference ? `, ${signedBytes(root.bytes - root.before)}` : ""}`,
      ),
    ),
    h(
      "p",
      { className: "note" },
      subject.name,
      difference && "; red: more than at the begin; blue: less; grey: the same",
      of !== "live" && ["; ", link("timeline", {}, "in the timeline")],
    ),
  );
  if (root.bytes === 0 && root.before === 0) {
    place.append(
      h(
        "p",
        {},
        difference
          ? "Nothing was alive at the begin or at the end. Choose a range in the timeline."
          : "Nothing to show.",
      ),
    );
    return;
  }
  place.append(
    flameDrawing(root, params.get("at") ?? "", difference, (path) => set({ at: path }), subject.what),
    h("h3", {}, difference ? "Functions that changed the most" : "Functions with the most below them"),
    flameTable(root, difference),
  );
}
