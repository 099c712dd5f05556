// The autograd graph as a tree that opens node by node: from outputs towards leaves.
import type { Column, Dump } from "./data";
import { h } from "./dom";
import { bytes, count, counted } from "./format";
import { link, type Shown } from "./main";

interface Graph { complete: boolean; detail: string; name: Column; module: Column; where: Column; edge_end: Column; edge: Column; saved_end: Column; saved_tensor: Column; saved_slot: Column }
const MOST = 200;

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

function item(dump: Dump, graph: Graph, node: number, seen: Map<number, string>): HTMLElement {
  const [from, to] = range(graph.edge_end, node), [first, last] = range(graph.saved_end, node);
  const module = dump.text(graph.module[node]), where = dump.text(graph.where[node]), size = savedBytes(dump, graph, node);
  const title = [h("strong", {}, dump.text(graph.name[node])), ` #${node} `, module && h("span", { className: "kind" }, module), where && h("span", { className: "note" }, ` ${where} `), size > 0 && `saves ${bytes(size)}`];
  if (seen.has(node)) return h("li", {}, title, h("span", { className: "note" }, " (shown above)"));
  seen.set(node, "");
  if (to === from && last === first) return h("li", {}, title);
  const inside = h("ul", {});
  const details = h("details", {}, h("summary", {}, title), inside);
  details.addEventListener("toggle", () => {
    if (!details.open || inside.childElementCount > 0) return;
    for (let i = first; i < last; i++) {
      const tensor = graph.saved_tensor[i], id = dump.data.tensors.id[tensor];
      inside.append(h("li", { className: "saved" }, `${dump.text(graph.saved_slot[i])}: `, link("tensor", { id: String(id) }, `#${id} ${dump.text(dump.data.tensors.name[tensor])}`), ` ${bytes(dump.data.tensors.bytes[tensor])}`));
    }
    for (let i = from; i < Math.min(to, from + MOST); i++) inside.append(item(dump, graph, graph.edge[i], seen));
    if (to - from > MOST) inside.append(h("li", {}, `and ${count(to - from - MOST)} more`));
  });
  return h("li", {}, details);
}

export function graphPage(place: HTMLElement, { dump }: Shown): void {
  const graph = dump.data.graph as Graph | null | undefined;
  place.append(h("h2", {}, "Autograd graph"));
  if (!graph) {
    place.append(h("p", {}, "This dump has no autograd graph."));
    return;
  }
  const n = graph.name.length, entered = new Uint8Array(n);
  for (const to of graph.edge) entered[to] = 1;
  const roots: number[] = [], classes = new Map<string, { nodes: number; bytes: number }>();
  for (let i = 0; i < n; i++) {
    if (!entered[i]) roots.push(i);
    const name = dump.text(graph.name[i]), sum = classes.get(name) ?? { nodes: 0, bytes: 0 };
    sum.nodes++;
    sum.bytes += savedBytes(dump, graph, i);
    classes.set(name, sum);
  }
  place.append(h("p", { className: "lead" }, `${counted(n, "node")}, ${counted(roots.length, "root")}`), !graph.complete && graph.detail ? h("p", { className: "problem" }, graph.detail) : "",
    h("p", { className: "note" }, "Roots are nodes that no other node leads to: outputs and losses that something still holds. Open a node to see what it saves and what it leads to. A storage that several nodes save counts for each."),
    h("ul", { className: "tree" }, roots.slice(0, MOST).map((root) => item(dump, graph, root, new Map()))), roots.length > MOST ? h("p", {}, `and ${count(roots.length - MOST)} more roots`) : "",
    h("h3", {}, "By class"), h("div", {}, [...classes].sort(([, a], [, b]) => b.bytes - a.bytes).slice(0, 30).map(([name, sum]) => h("p", {}, `${name}: ${counted(sum.nodes, "node")}, saves ${bytes(sum.bytes)}`))));
}
