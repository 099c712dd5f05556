// SPDX-License-Identifier: Apache-2.0
// One tensor: what it is, who holds it, its stack, and the storage that it shares, drawn to scale.
import { button, copy, h, plainTable } from "./dom";
import { holdersOf, type Dump, type Frame, type Holder, type Stacks } from "./data";
import { age, bytes, counted } from "./format";
import { neighbours } from "./graph";
import { go, link, type Shown } from "./router";

const MOST_BARS = 200;

const label = (dump: Dump, row: number) => dump.text(dump.data.tensors.name[row]) || `#${dump.data.tensors.id[row]}`;
const tensorLink = (dump: Dump, row: number) =>
  link(
    "tensor",
    { id: String(dump.data.tensors.id[row]) },
    `#${dump.data.tensors.id[row]} ${dump.text(dump.data.tensors.name[row])}`.trim(),
  );

export function stackText(stacks: Stacks, site: number): string {
  return stacks
    .stack(site)
    .map((number) => {
      const frame = stacks.frame(number);
      return (
        `${frame.file || frame.object}${frame.line ? `:${frame.line}` : ""} ` +
        `${frame.function}${frame.source ? `    ${frame.source}` : ""}`
      );
    })
    .join("\n");
}

const region = (table: HTMLElement) =>
  h("div", { className: "wide-table", tabindex: 0, role: "region", "aria-label": "table" }, table);

// Python's frames first: the native ones below them are rarely of interest.
export function stackTable(stacks: Stacks, site: number): HTMLElement {
  const frames = stacks.stack(site).map((number) => stacks.frame(number)),
    python = frames.filter((frame) => !frame.native),
    native = frames.filter((frame) => frame.native);
  if (frames.length === 0) return h("p", {}, "no stack was recorded");
  const table = (shown: Frame[]) =>
    region(
      plainTable(
        ["place", "function", "source"],
        shown.map((frame) => [
          (frame.file || frame.object) + (frame.line ? `:${frame.line}` : ""),
          frame.function,
          h("code", {}, frame.source),
        ]),
      ),
    );
  if (python.length === 0) return table(native);
  return h(
    "div",
    {},
    table(python),
    native.length > 0 &&
      h("details", {}, h("summary", {}, `${counted(native.length, "native frame")}, innermost first`), table(native)),
  );
}

function storageDrawing(dump: Dump, row: number): HTMLElement {
  const t = dump.data.tensors,
    storage = t.storage[row];
  if (storage === 0 && !dump.knows(row, "storage"))
    return h("p", {}, "Its storage is not known: it could not be read.");
  if (storage === 0) return h("p", {}, "It has no storage of its own (meta, sparse, empty or a wrapper).");
  const size = dump.data.storages.bytes[storage - 1];
  const sharing = dump.inStorage(storage),
    others = sharing.length - 1;
  const bar = (each: number) => {
    if (!dump.knows(each, "offset") || !dump.knows(each, "bytes")) {
      return h(
        "div",
        { className: each === row ? "share self" : "share" },
        h("span", { className: "share-name" }, tensorLink(dump, each)),
        h("span", { className: "note" }, "where it lies in the storage is not known"),
        h("span", { className: "share-size" }, dump.knows(each, "bytes") ? bytes(t.length[each]) : "not known"),
      );
    }
    const begin = size > 0 ? (100 * t.begin[each]) / size : 0,
      width = size > 0 ? Math.max(0.3, (100 * t.length[each]) / size) : 100;
    return h(
      "div",
      { className: each === row ? "share self" : "share" },
      h("span", { className: "share-name" }, tensorLink(dump, each)),
      h(
        "span",
        {
          className: "share-line",
          role: "img",
          "aria-label": `bytes ${t.begin[each]} to ${t.begin[each] + t.length[each]} of ${size}`,
        },
        h("span", {
          className: "share-bar",
          style: { left: `${Math.min(99.7, begin)}%`, width: `${Math.min(width, 100 - Math.min(99.7, begin))}%` },
        }),
      ),
      h("span", { className: "share-size" }, bytes(t.length[each])),
    );
  };
  return h(
    "div",
    {},
    h(
      "p",
      {},
      `storage #${dump.data.storages.id[storage - 1]}: ${bytes(size)} on ` +
        `${dump.text(dump.data.storages.device[storage - 1])}, ${dump.text(dump.data.storages.kind[storage - 1])}; ` +
        (others > 0 ? `shared with ${counted(others, "tensor")}` : "not shared"),
    ),
    sharing.slice(0, MOST_BARS).map(bar),
    sharing.length > MOST_BARS && h("p", {}, `and ${counted(sharing.length - MOST_BARS, "more tensor")}`),
  );
}

interface Chain {
  text: string;
  holder: Holder | null;
  kinds: Set<string>;
  next: Map<string, Chain>;
}

// Chains that begin alike, as a tree: what is nearest to the tensor first.
function chains(holders: Holder[]): Map<string, Chain> {
  const roots = new Map<string, Chain>();
  for (const holder of holders) {
    let level = roots;
    holder.text.split(" <- ").forEach((text, i) => {
      let chain = level.get(text);
      if (!chain) level.set(text, (chain = { text, holder: null, kinds: new Set(), next: new Map() }));
      if (i === 0) {
        chain.holder = holder;
        chain.kinds.add(holder.kind);
      }
      level = chain.next;
    });
  }
  return roots;
}

function holderTree(dump: Dump, row: number, seen: Set<number>): HTMLElement {
  const branch = (chain: Chain): HTMLElement => {
    const tensor = chain.holder?.tensor ?? -1;
    return h(
      "li",
      {},
      [...chain.kinds].map((kind) => [h("span", { className: "kind" }, kind), " "]),
      chain.text,
      tensor >= 0 && [" ", tensorLink(dump, tensor)],
      chain.next.size > 0 && h("ul", {}, [...chain.next.values()].map(branch)),
      tensor >= 0 &&
        !seen.has(tensor) &&
        later(`what holds #${dump.data.tensors.id[tensor]}`, () => holderTree(dump, tensor, new Set(seen).add(tensor))),
    );
  };
  const holders = holdersOf(dump, row),
    more = dump.data.tensors.holder_count[row] - holders.length;
  if (holders.length === 0) return h("p", {}, "not known: names were not recorded");
  return h(
    "ul",
    { className: "tree" },
    [...chains(holders).values()].map(branch),
    more > 0 && h("li", {}, `and ${counted(more, "more holder")}`),
  );
}

// Made when it is opened.
function later(title: string, make: () => HTMLElement): HTMLElement {
  const details = h("details", {}, h("summary", { className: "note" }, title));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(make());
  });
  return details;
}

export function tensorPage(place: HTMLElement, { dump, params, report }: Shown): void {
  const row = dump.withId(Number(params.get("id")));
  if (row === undefined) {
    place.append(
      h("h2", {}, "Tensor"),
      h("p", {}, `There is no tensor #${params.get("id") ?? ""} in this dump.`),
      link("tensors", {}, "all tensors"),
    );
    return;
  }
  const t = dump.data.tensors,
    text = (column: ArrayLike<number>) => dump.text(column[row]);
  const flag = (name: string) => (t.flags[row] & report.flag(name)) !== 0;
  const known = (what: string, value: string) => (dump.knows(row, what) ? value : "not known");
  const facts: [string, string | Node][] = [
    ["shape", `${text(t.dtype)} ${text(t.shape)}`],
    ["strides", text(t.strides)],
    ["device", text(t.device)],
    ["bytes", known("bytes", bytes(t.bytes[row]))],
    ["memory it counts for", known("storage", bytes(dump.owned[row]))],
    ["category", text(t.category) + (text(t.evidence) ? `: ${text(t.evidence)}` : "")],
    ["module", text(t.module)],
    ["class", [text(t.type), text(t.class)].filter(Boolean).join(", ")],
    [
      "autograd",
      [
        flag("requires_grad") && "requires grad",
        flag("leaf") && "leaf",
        flag("view") && "view",
        text(t.grad_fn),
        ...["requires_grad", "leaf", "view"]
          .filter((each) => !dump.knows(row, each))
          .map((each) => `${each.replace("_", " ")}: not known`),
      ]
        .filter(Boolean)
        .join(", "),
    ],
    ["gradient", t.grad[row] ? tensorLink(dump, t.grad[row] - 1) : ""],
    ["age", age(t.age[row])],
    ["thread", text(t.thread)],
  ];
  const names = text(t.names).split("\n").slice(1).filter(Boolean);
  place.append(
    h("h2", {}, label(dump, row)),
    h(
      "div",
      {},
      h("p", { className: "lead" }, `tensor #${t.id[row]}`),
      h(
        "dl",
        { className: "facts" },
        facts.filter(([, value]) => value !== "").map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
      ),
      names.length > 0 && h("p", {}, "other names: " + names.join("; ")),
      h("h3", {}, "Held by"),
      holderTree(dump, row, new Set([row])),
      h("h3", {}, "Its storage"),
      storageDrawing(dump, row),
      dump.data.graph !== null &&
        dump.data.graph !== undefined && [h("h3", {}, "In the autograd graph"), neighbours(dump, row)],
      h("h3", {}, "Allocated at"),
      h("p", {}, link("tensors", { in: "site", is: dump.stacks.where(t.site[row]) }, dump.stacks.where(t.site[row]))),
      stackTable(dump.stacks, t.site[row]),
      h(
        "div",
        { className: "tools" },
        button("copy the stack", () => void copy(stackText(dump.stacks, t.site[row]))),
        button("all tensors", () => go("tensors", {})),
      ),
    ),
  );
}
