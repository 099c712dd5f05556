// SPDX-License-Identifier: Apache-2.0
// Answers of diff, leaks and oom.
import { Boxes, type Box } from "./canvas";
import type { Column } from "./data";
import { amount, button, copy, csv, h, plainTable, save } from "./dom";
import { flameDrawing, flameOf, flameTable, liveSums } from "./flame";
import { bytes, count, counted, signedBytes, signedCount } from "./format";
import { go, link, type Shown } from "./router";

interface Amount {
  tensors: number;
  bytes: number;
}
interface Diff {
  dumps: string[];
  same_run: boolean;
  bytes: number[];
  tensors: number[];
  movement: Record<string, Amount>;
  change_count: number;
  changes: { where: string; bytes: number[]; tensors: number[]; steady: boolean; held_by: string }[];
}
interface Place {
  where: string;
  source: string | null;
}
interface Fact {
  what: string;
  values: number[];
  unit: string;
}
interface PassingCycles {
  words: string;
  made_at: Place | null;
  tensors: number[];
}
export interface Leaks {
  dumps: string[];
  left_out: string[];
  returned: string | null;
  gaps: string;
  text: string;
  answer: {
    found: boolean;
    weak: boolean;
    holders_known: boolean;
    live_bytes: number[];
    process: Fact[];
    process_look_at: string | null;
    passing_cycles: PassingCycles | null;
  };
  findings: {
    kind: string;
    title: string;
    headline: string;
    held_by: string;
    made_at: Place | null;
    look_at: string;
    bytes: number;
    evidence: Fact[];
    tensors: number[];
  }[];
  places: {
    place: Place | null;
    growth: { count: number[]; bytes: number[] } | null;
    leak: boolean;
    finding: number | null;
    held_by: string | null;
    look_at: string | null;
  }[];
}
interface Part {
  name: string;
  label: string | null;
  bytes: number | null;
  note: string | null;
  share?: string;
  parts: Part[];
}
export interface Oom {
  dump: string;
  text: string;
  answer: { device: string; request: number | null; too_large: boolean; remedies_missing: string | null };
  balance: Part;
  places: {
    bytes: number;
    tensors: number;
    blocks: number;
    at: Place | null;
    module_path: string | null;
    held_by: string | null;
  }[];
  remedies: { title: string; gives: string; fits_words: string; takes: string; estimate_words: string }[];
  devices: {
    device: string;
    name: string;
    segments: { address: number; size: number; allocated: number; stream: number; pool: string; expandable: boolean }[];
    blocks: { segment: Column; offset: Column; size: Column; state: Column };
  }[];
}

const arrows = (values: number[], words: (value: number) => string) => values.map(words).join(" -> ");
const asPrinted = (name: string, text: string) =>
  h(
    "details",
    {},
    h("summary", {}, `as 'tensorscope ${name}' prints it`),
    button("copy", () => void copy(text)),
    h("pre", {}, text),
  );
const at = (place: Place | null) =>
  place
    ? h(
        "span",
        {},
        link("tensors", { in: "site", is: place.where }, place.where),
        place.source ? [" ", h("code", {}, place.source)] : "",
      )
    : "";

export function diffPage(place: HTMLElement, { report, params, dump }: Shown): void {
  const diff = report.data.diff as Diff,
    grown = diff.bytes[diff.bytes.length - 1] - diff.bytes[0];
  place.append(
    h("h2", {}, "What changed"),
    h("p", { className: "lead" }, `live bytes ${arrows(diff.bytes, bytes)}   ${signedBytes(grown)}`),
    h("p", {}, `tensors ${arrows(diff.tensors, count)}`),
    h(
      "p",
      {},
      diff.dumps.join(" -> ") + (diff.same_run ? ": same run" : ": different runs, compared by stack, shape and dtype"),
    ),
    h(
      "p",
      {},
      Object.entries(diff.movement)
        .filter(([, amount]) => amount.tensors > 0 || amount.bytes > 0)
        .map(([what, amount]) => `${what} ${counted(amount.tensors, "tensor")}, ${bytes(amount.bytes)}`)
        .join("; "),
    ),
  );
  const rows = diff.changes.slice(0, 100).map((change) => {
    const growth = change.bytes[change.bytes.length - 1] - change.bytes[0];
    const steps = change.bytes
      .slice(1)
      .map((value, i) => signedBytes(value - change.bytes[i]))
      .join(" ");
    return [
      amount(growth, signedBytes(growth)),
      signedCount(change.tensors[change.tensors.length - 1] - change.tensors[0]),
      diff.bytes.length > 2 ? steps + (change.steady ? " steady" : "") : "",
      h(
        "div",
        {},
        link("tensors", { in: "site", is: change.where }, change.where),
        change.held_by ? h("div", { className: "note" }, change.held_by) : "",
      ),
    ];
  });
  const first = report.dumps[0];
  const inverted = params.get("inverted") === "1";
  const root = flameOf(liveSums(dump), first === dump ? null : liveSums(first), "merged", inverted);
  if (first !== dump) {
    place.append(
      h("h3", {}, `${first.data.path} -> ${dump.data.path}, by stack`),
      h("p", { className: "note" }, "red: more than before; blue: less; grey: the same"),
      h(
        "label",
        {},
        h("input", {
          type: "checkbox",
          checked: inverted,
          onchange: (event: Event) => go("diff", { inverted: (event.target as HTMLInputElement).checked ? "1" : "" }),
        }),
        " inverted",
      ),
      flameDrawing(root, params.get("at") ?? "", true, (path) =>
        go("diff", { at: path, inverted: inverted ? "1" : "" }),
      ),
      flameTable(root, true),
    );
  }
  place.append(
    h("h3", {}, "By allocation site"),
    rows.length > 0
      ? plainTable(["bytes", "count", diff.bytes.length > 2 ? "each interval" : "", "where"], rows, [0, 1])
      : h("p", {}, "no allocation site grew or shrank"),
    button("save as CSV", () =>
      save(
        "changes.csv",
        csv([["where", ...diff.dumps], ...diff.changes.map((change) => [change.where, ...change.bytes])]),
      ),
    ),
  );
}

const factText = (fact: Fact) =>
  fact.values.length === 0 ? fact.what : `${fact.what}: ${arrows(fact.values, fact.unit === "bytes" ? bytes : count)}`;

// Of the dump with this number; none where the page does not have it.
function tensorLinks(ids: number[], dump: number): Node | string {
  if (ids.length === 0 || dump < 0) return "";
  return h(
    "p",
    { className: "note" },
    "tensors: ",
    ids.slice(0, 12).map((id) => [link("tensor", { id: String(id), dump: String(dump) }, `#${id}`), " "]),
    ids.length > 12 ? `and ${count(ids.length - 12)} more` : "",
  );
}

export function leaksPage(place: HTMLElement, { report }: Shown): void {
  const leaks = report.data.leaks as Leaks;
  const lead = leaks.text.split("\n").slice(0, 2);
  place.append(
    h("h2", {}, "Leaks"),
    ...lead.map((line, i) => h("p", { className: i === 1 ? "lead" : "" }, line)),
    ...leaks.left_out.map((line) => h("p", { className: "problem" }, line)),
    leaks.gaps ? h("p", { className: "problem" }, leaks.gaps) : "",
  );
  // Findings are of the last dump that was compared.
  const ofLeaks = report.dumps.findIndex((dump) => dump.data.path === leaks.dumps[leaks.dumps.length - 1]);
  leaks.findings.forEach((finding, i) => {
    place.append(
      h(
        "section",
        { className: "finding" },
        h("h3", {}, `${i + 1}. ${finding.title}`),
        h("p", { className: "headline" }, finding.headline),
        h("p", { className: "todo" }, `what to do: ${finding.look_at}`),
        finding.made_at ? h("p", {}, "created at ", at(finding.made_at)) : "",
        h(
          "ul",
          {},
          finding.evidence.map((fact) => h("li", {}, factText(fact))),
        ),
        tensorLinks(finding.tensors, ofLeaks),
      ),
    );
  });
  const passing = leaks.answer.passing_cycles;
  if (passing) {
    place.append(
      h(
        "section",
        { className: "passing" },
        h("h3", {}, "Reference cycles that are freed"),
        h("p", {}, passing.words),
        passing.made_at ? h("p", {}, "created at ", at(passing.made_at)) : "",
        tensorLinks(passing.tensors, ofLeaks),
      ),
    );
  }
  const grown = leaks.places.filter((each) => each.growth);
  if (grown.length > 0) {
    place.append(
      h("h3", {}, "Allocation sites that grew"),
      plainTable(
        ["each dump", "where", "held by"],
        grown
          .slice(0, 50)
          .map((each) => [
            arrows(each.growth!.bytes, bytes),
            at(each.place),
            each.finding !== null
              ? `see finding ${each.finding + 1}`
              : h("div", {}, each.held_by ?? "", each.look_at ? h("div", { className: "note" }, each.look_at) : ""),
          ]),
      ),
    );
  }
  if (leaks.answer.process.length > 0) {
    place.append(
      h("h3", {}, "The process"),
      h(
        "ul",
        {},
        leaks.answer.process.map((fact) => h("li", {}, factText(fact))),
      ),
      leaks.answer.process_look_at ? h("p", { className: "todo" }, `what to do: ${leaks.answer.process_look_at}`) : "",
    );
  }
  place.append(asPrinted("leaks", leaks.text));
}

function balance(part: Part, depth = 0): (string | Node)[][] {
  const row = [
    h("span", { style: { "padding-left": `${depth * 1.2}rem` } }, part.label ?? part.name.replaceAll("_", " ")),
    part.bytes === null ? "not known" : amount(part.bytes, bytes(part.bytes)),
    part.share ?? "",
    part.note ?? "",
  ];
  return [row, ...part.parts.flatMap((each) => balance(each, depth + 1))];
}

const STATES = ["allocated", "pending_free", "free"];
const STATE_COLOURS = ["#d55e00", "#f0e442", "#cfe3f2"];

function segmentDrawing(device: Oom["devices"][number]): HTMLElement {
  const order = device.segments
    .map((segment, i) => ({ segment, i }))
    .sort((a, b) => b.segment.size - a.segment.size)
    .slice(0, 300);
  const row = new Map(order.map(({ i }, k) => [i, k])),
    largest = order[0]?.segment.size ?? 1,
    high = 16,
    { blocks } = device;
  const boxes = new Boxes<string>(
    `segments of ${device.device}`,
    (width) => {
      const out: Box<string>[] = order.map(({ segment }, k) => ({
        x: 0,
        y: k * high,
        w: Math.max(1, (width * segment.size) / largest),
        h: high - 2,
        fill: "#cfe3f2",
        label: "",
        data:
          `segment of ${bytes(segment.size)}, ${bytes(segment.allocated)} allocated, ${segment.pool} ` +
          `pool, stream ${segment.stream}${segment.expandable ? ", expandable" : ""}`,
      }));
      for (let i = 0; i < blocks.segment.length; i++) {
        const k = row.get(blocks.segment[i]);
        if (k === undefined || blocks.state[i] === 2) continue;
        const state = Math.min(blocks.state[i], 2);
        out.push({
          x: (width * blocks.offset[i]) / largest,
          y: k * high,
          w: Math.max(0.5, (width * blocks.size[i]) / largest),
          h: high - 2,
          fill: STATE_COLOURS[state],
          label: "",
          data: `block of ${bytes(blocks.size[i])}, ${STATES[state].replace("_", " ")}`,
        });
      }
      return { boxes: out, height: Math.max(high, order.length * high) };
    },
    (text) => text,
    () => undefined,
  );
  queueMicrotask(() => boxes.draw());
  const size = device.segments.reduce((sum, segment) => sum + segment.size, 0),
    used = device.segments.reduce((sum, segment) => sum + segment.allocated, 0);
  return h(
    "div",
    {},
    h("h3", {}, `Segments of ${device.device}${device.name ? `, ${device.name}` : ""}`),
    h(
      "p",
      {},
      `${counted(device.segments.length, "segment")}, ${bytes(size)} reserved, ${bytes(used)} allocated, ` +
        `${bytes(size - used)} free; drawn to scale, the largest first`,
    ),
    h(
      "p",
      { className: "legend" },
      STATES.map((state, i) =>
        h("span", {}, h("i", { style: { background: STATE_COLOURS[i] } }), " ", state.replace("_", " "), " "),
      ),
    ),
    boxes.element,
  );
}

export function oomPage(place: HTMLElement, { report }: Shown): void {
  const oom = report.data.oom as Oom;
  const head = oom.text.split("\n\n", 1)[0].split("\n");
  place.append(
    h("h2", {}, oom.answer.request === null ? `Memory of ${oom.answer.device}` : "Out of memory"),
    h("p", { className: "lead" }, head[0]),
    ...head.slice(1).map((line) => h("p", {}, line.trim())),
  );
  place.append(
    h("h3", {}, "What to do"),
    oom.remedies.length === 0
      ? h("p", {}, "nothing found that would free a useful amount")
      : plainTable(
          ["frees", "what to do"],
          oom.remedies.map((remedy) => [
            remedy.gives,
            h(
              "div",
              {},
              h("strong", {}, remedy.title),
              remedy.fits_words ? ` (${remedy.fits_words})` : "",
              h("div", {}, remedy.takes),
              remedy.estimate_words ? h("div", { className: "note" }, `estimate: ${remedy.estimate_words}`) : "",
            ),
          ]),
          [0],
        ),
    oom.answer.remedies_missing ? h("p", { className: "problem" }, oom.answer.remedies_missing) : "",
  );
  place.append(
    h("h3", {}, "Whose memory it is"),
    h(
      "div",
      { className: "wide-table", tabindex: 0, role: "region", "aria-label": "table" },
      plainTable(["", "bytes", "% of allocated", ""], balance(oom.balance), [1, 2]),
    ),
  );
  place.append(
    h("h3", {}, "Largest allocation sites"),
    plainTable(
      ["bytes", "count", "where"],
      oom.places.map((each) => [
        amount(each.bytes, bytes(each.bytes)),
        count(each.tensors + each.blocks),
        h("div", {}, at(each.at), each.held_by ? h("div", { className: "note" }, each.held_by) : ""),
      ]),
      [0, 1],
    ),
  );
  for (const device of oom.devices) if (device.segments.length > 0) place.append(segmentDrawing(device));
  place.append(asPrinted("oom", oom.text));
}

const MOST_ANSWERS = 5;

// For the overview: why memory ran out, and what to try first.
export function oomAnswer({ text, remedies, answer }: Oom): (Node | string)[] {
  const [what, ...how] = text.split("\n\n", 1)[0].split("\n");
  return [
    h("p", { className: "lead" }, link("oom", {}, what)),
    ...how.slice(0, -1).map((line) => h("p", {}, line.trim())),
    h("h3", {}, "What to do"),
    h(
      "ul",
      { className: "todo-list" },
      remedies
        .slice(0, 3)
        .map((remedy) =>
          h(
            "li",
            {},
            h("strong", {}, remedy.title),
            `: ${remedy.gives}${remedy.fits_words ? ` (${remedy.fits_words})` : ""}`,
            h("div", {}, remedy.takes),
          ),
        ),
    ),
    remedies.length === 0 ? h("p", {}, "nothing found that would free a useful amount") : "",
    answer.remedies_missing ? h("p", { className: "problem" }, answer.remedies_missing) : "",
  ];
}

// For the overview: what leaks, and what to do about it; or that nothing was found, and in what.
export function leaksAnswer(leaks: Leaks): (Node | string)[] {
  const [compared, summary] = leaks.text.split("\n");
  const found = leaks.findings.map((finding) =>
    h(
      "li",
      {},
      link("leaks", {}, finding.headline),
      h("div", {}, finding.title, finding.made_at ? `, created at ${finding.made_at.where}` : ""),
      h("div", { className: "todo" }, `what to do: ${finding.look_at}`),
    ),
  );
  const grown = leaks.places
    .filter((each) => each.leak && each.finding === null && each.growth && each.place)
    .map((each) => {
      const { bytes: values } = each.growth!;
      return h(
        "li",
        {},
        link("leaks", {}, `${signedBytes(values[values.length - 1] - values[0])} at ${each.place!.where}`),
        h("div", {}, "growing allocation site: ", arrows(values, bytes)),
        h(
          "div",
          { className: "todo" },
          leaks.answer.holders_known
            ? `what to do: ${each.look_at ?? "look at what holds it"}`
            : "what to do: take a dump while the program runs (tensorscope snapshot PID): it names what " +
                "holds these tensors",
        ),
      );
    });
  const all = [...found, ...grown],
    more = all.length - MOST_ANSWERS;
  if (all.length === 0)
    return [
      h("h3", {}, "What leaks"),
      h("p", {}, link("leaks", {}, summary), h("span", { className: "note" }, ` ${compared}`)),
      leaks.gaps ? h("p", { className: "problem" }, leaks.gaps) : "",
    ];
  return [
    h("h3", {}, "What leaks, and what to do"),
    h("ul", { className: "todo-list" }, all.slice(0, MOST_ANSWERS)),
    more > 0 ? h("p", {}, link("leaks", {}, `${count(more)} more`)) : "",
  ];
}
