// SPDX-License-Identifier: Apache-2.0
// The autograd graph as a tree that opens node by node: from outputs towards leaves.
import type { Column, Dump } from "./data";
import { amount, h, plainTable } from "./dom";
import { bytes, count, counted } from "./format";
import { link, type Shown } from "./router";

export interface Graph {
  complete: boolean;
  detail: string;
  name: Column;
  module: Column;
  where: Column;
  edge_end: Column;
  edge: Column;
  saved_end: Column;
  saved_tensor: Column;
  saved_slot: Column;
}
const MOST = 200;

// What leads to each node, and which nodes save each tensor: found once a dump.
interface Backwards {
  into: Map<number, number[]>;
  savers: Map<number, { node: number; slot: string }[]>;
}
const known = new WeakMap<Dump, Backwards>();

function backwards(dump: Dump, graph: Graph): Backwards {
  let found = known.get(dump);
  if (found) return found;
  const into = new Map<number, number[]>(),
    savers: Backwards["savers"] = new Map();
  const put = <Value>(map: Map<number, Value[]>, key: number, value: Value) => {
    const list = map.get(key);
    if (list) list.push(value);
    else map.set(key, [value]);
  };
  for (let node = 0; node < graph.name.length; node++) {
    const [from, to] = range(graph.edge_end, node),
      [first, last] = range(graph.saved_end, node);
    for (let i = from; i < to; i++) put(into, graph.edge[i], node);
    for (let i = first; i < last; i++)
      put(savers, graph.saved_tensor[i], { node, slot: dump.text(graph.saved_slot[i]) });
  }
  known.set(dump, (found = { into, savers }));
  return found;
}

const range = (ends: Column, i: number): [number, number] => [i === 0 ? 0 : ends[i - 1], ends[i]];

function savedBytes(dump: Dump, graph: Graph, node: number): number {
  let sum = 0;
  const [from, to] = range(graph.saved_end, node);
  for (let i = from; i < to; i++) {
    const storage = dump.data.tensors.storage[graph.saved_tensor[i]];
    if (storage > 0) sum += dump.data.storages.bytes[storage - 1];
  }
  return sum;
}

function nodeTitle(dump: Dump, graph: Graph, node: number): (Node | string | false)[] {
  const module = dump.text(graph.module[node]),
    where = dump.text(graph.where[node]),
    size = savedBytes(dump, graph, node);
  return [
    h("strong", {}, dump.text(graph.name[node])),
    ` #${node} `,
    module !== "" && h("span", { className: "kind" }, module),
    where !== "" && h("span", { className: "note" }, ` ${where} `),
    size > 0 && `saves ${bytes(size)}`,
  ];
}

// Towards the leaves.
function item(dump: Dump, graph: Graph, node: number, seen: Map<number, string>): HTMLElement {
  const [from, to] = range(graph.edge_end, node),
    [first, last] = range(graph.saved_end, node),
    title = nodeTitle(dump, graph, node);
  if (seen.has(node)) return h("li", {}, title, h("span", { className: "note" }, " (shown above)"));
  seen.set(node, "");
  if (to === from && last === first) return h("li", {}, title);
  const inside = h("ul", {});
  const details = h("details", {}, h("summary", {}, title), inside);
  details.addEventListener("toggle", () => {
    if (!details.open || inside.childElementCount > 0) return;
    for (let i = first; i < last; i++) {
      const tensor = graph.saved_tensor[i],
        id = dump.data.tensors.id[tensor];
      inside.append(
        h(
          "li",
          { className: "saved" },
          `${dump.text(graph.saved_slot[i])}: `,
          link("tensor", { id: String(id) }, `#${id} ${dump.text(dump.data.tensors.name[tensor])}`),
          ` ${bytes(dump.data.tensors.bytes[tensor])}`,
        ),
      );
    }
    for (let i = from; i < Math.min(to, from + MOST); i++) inside.append(item(dump, graph, graph.edge[i], seen));
    if (to - from > MOST) inside.append(h("li", {}, `and ${count(to - from - MOST)} more`));
  });
  return h("li", {}, details);
}

// Towards the outputs: what leads to a node keeps it alive.
function itemBack(dump: Dump, graph: Graph, node: number, seen: Set<number>): HTMLElement {
  const before = backwards(dump, graph).into.get(node) ?? [],
    title = nodeTitle(dump, graph, node);
  if (seen.has(node)) return h("li", {}, title, h("span", { className: "note" }, " (shown above)"));
  seen.add(node);
  if (before.length === 0)
    return h(
      "li",
      {},
      title,
      h(
        "span",
        { className: "note" },
        graph.complete
          ? " (no other node leads to it: an output or a loss that something holds)"
          : " (no other node that was read leads to it)",
      ),
    );
  const inside = h("ul", {}),
    details = h("details", {}, h("summary", {}, title), inside);
  details.addEventListener("toggle", () => {
    if (!details.open || inside.childElementCount > 0) return;
    inside.append(...before.slice(0, MOST).map((each) => itemBack(dump, graph, each, seen)));
    if (before.length > MOST) inside.append(h("li", {}, `and ${count(before.length - MOST)} more`));
  });
  return h("li", {}, details);
}

// Of one tensor: the node that made it and what that leads to, the nodes that save it and what leads to these.
export function neighbours(dump: Dump, row: number): HTMLElement | "" {
  const graph = dump.data.graph as Graph | null | undefined;
  if (!graph) return "";
  const made = dump.data.tensors.node[row] - 1,
    savers = backwards(dump, graph).savers.get(row) ?? [];
  if (made < 0 && savers.length === 0)
    return h(
      "p",
      {},
      graph.complete
        ? "No node of the graph made it or saves it."
        : "No node that was read made it or saves it: the graph is not complete.",
    );
  return h(
    "div",
    {},
    made >= 0 && [
      h("p", {}, "made by, with the nodes that it leads to:"),
      h("ul", { className: "tree" }, item(dump, graph, made, new Map())),
    ],
    savers.length > 0 && [
      h(
        "p",
        {},
        `saved by ${counted(savers.length, "node")}, with the nodes that lead to ` +
          `${savers.length === 1 ? "it" : "them"}:`,
      ),
      h(
        "ul",
        { className: "tree" },
        savers
          .slice(0, MOST)
          .map(({ node, slot }) =>
            h("li", {}, h("span", { className: "kind" }, slot), h("ul", {}, itemBack(dump, graph, node, new Set()))),
          ),
      ),
    ],
  );
}

export function graphPage(place: HTMLElement, { dump }: Shown): void {
  const graph = dump.data.graph as Graph | null | undefined;
  place.append(h("h2", {}, "Autograd graph"));
  if (!graph || graph.name.length === 0) {
    place.append(
      h(
        "p",
        {},
        !graph
          ? "The autograd graph was not recorded."
          : graph.complete
            ? "No node of the autograd graph is alive in this dump."
            : `The autograd graph was not read${graph.detail ? `: ${graph.detail}` : ""}.`,
      ),
    );
    return;
  }
  const n = graph.name.length,
    entered = new Uint8Array(n);
  for (const to of graph.edge) entered[to] = 1;
  const roots: number[] = [],
    classes = new Map<string, { nodes: number; bytes: number }>();
  for (let i = 0; i < n; i++) {
    if (!entered[i]) roots.push(i);
    const name = dump.text(graph.name[i]),
      sum = classes.get(name) ?? { nodes: 0, bytes: 0 };
    sum.nodes++;
    sum.bytes += savedBytes(dump, graph, i);
    classes.set(name, sum);
  }
  place.append(
    h("p", { className: "lead" }, `${counted(n, "node")}, ${counted(roots.length, "root")}`),
    graph.complete
      ? ""
      : h("p", { className: "problem" }, `The graph is not complete${graph.detail ? `: ${graph.detail}` : ""}.`),
    h(
      "p",
      { className: "note" },
      "Roots are nodes that no other node leads to: outputs and losses that something still holds. Open a " +
        "node to see what it saves and what it leads to. A storage that several nodes save counts for each.",
    ),
    h(
      "ul",
      { className: "tree" },
      roots.slice(0, MOST).map((root) => item(dump, graph, root, new Map())),
    ),
    roots.length > MOST ? h("p", {}, `and ${count(roots.length - MOST)} more roots`) : "",
    h("h3", {}, "By class"),
    plainTable(
      ["saves", "nodes", "class"],
      [...classes]
        .sort(([, a], [, b]) => b.bytes - a.bytes)
        .map(([name, sum]) => [amount(sum.bytes, bytes(sum.bytes)), amount(sum.nodes, count(sum.nodes)), name]),
      [0, 1],
    ),
  );
}
