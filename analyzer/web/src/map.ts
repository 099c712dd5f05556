// SPDX-License-Identifier: Apache-2.0
// Treemap: the area of a box is its bytes; by module, category or holder.
import { hierarchy, treemap, treemapSquarify } from "d3-hierarchy";
import { Boxes, CATEGORY_COLOURS, colourOf, type Box } from "./canvas";
import { amount, h, plainTable } from "./dom";
import { bytes, counted, percent } from "./format";
import { go, link, type Shown } from "./router";
import { groups } from "./tensors";

interface Node {
  name: string;
  key: string;
  bytes: number;
  tensors: number;
  children: Node[];
}
const BY = ["module", "category", "site", "holder", "dtype", "device"];
const HEIGHT = 520,
  MOST = 4000;

// "model.layers.0.fc1" under "model", "layers", "0"; what is no path stays whole.
function tree(shown: Shown, by: string): Node {
  const { dump } = shown;
  const all = Uint32Array.from({ length: dump.tensorCount }, (_, i) => i);
  const root: Node = { name: "all", key: "", bytes: 0, tensors: 0, children: [] };
  for (const group of groups(dump, by, all)
    .filter((each) => each.bytes > 0)
    .slice(0, MOST)) {
    const parts = by === "module" && /^[\w.]+$/.test(group.key) ? group.key.split(".").slice(0, 60) : [group.key];
    let node = root;
    parts.forEach((part, i) => {
      let child = node.children.find((each) => each.name === part);
      if (!child)
        node.children.push(
          (child = { name: part, key: parts.slice(0, i + 1).join("."), bytes: 0, tensors: 0, children: [] }),
        );
      node = child;
    });
    node.bytes += group.bytes;
    node.tensors += group.tensors;
  }
  // What a module holds besides the modules in it is a box of its own.
  const inner = [root];
  for (let node = inner.pop(); node; node = inner.pop()) {
    inner.push(...node.children);
    if (node.children.length === 0 || node.bytes === 0) continue;
    node.children.push({ name: "itself", key: node.key, bytes: node.bytes, tensors: node.tensors, children: [] });
    node.bytes = 0;
  }
  return root;
}

function find(root: Node, key: string): Node {
  if (key === "") return root;
  const next = root.children.find((child) => key === child.key || key.startsWith(child.key + "."));
  return next && next.name !== "itself" ? (next.key === key ? next : find(next, key)) : root;
}

export function mapPage(place: HTMLElement, shown: Shown): void {
  const { params, dump } = shown,
    by = BY.includes(params.get("by") ?? "") ? params.get("by")! : "module";
  const root = tree(shown, by),
    at = find(root, params.get("at") ?? "");
  const laid = hierarchy(at, (node) => node.children)
    .sum((node) => node.bytes)
    .sort((a, b) => b.value! - a.value!);
  const total = laid.value ?? 0;
  place.append(
    h("h2", {}, "Memory map"),
    h(
      "div",
      { className: "tools" },
      h(
        "label",
        {},
        "by ",
        h(
          "select",
          { onchange: (event: Event) => go("map", { by: (event.target as HTMLSelectElement).value }) },
          BY.map((each) => h("option", { value: each, selected: each === by }, each)),
        ),
      ),
      at !== root && link("map", { by }, "all"),
      h("output", {}, `${at === root ? "everything" : at.key}: ${bytes(total)}`),
    ),
  );
  const open = (node: Node) =>
    node.children.length > 0 ? go("map", { by, at: node.key }) : go("tensors", { in: by, is: node.key });
  const boxes = new Boxes<{ node: Node; value: number }>(
    "treemap of live bytes",
    (width) => {
      const placed = treemap<Node>()
        .size([width, HEIGHT])
        .tile(treemapSquarify)
        .paddingTop((node) => (node.height > 0 && node.depth > 0 ? 18 : 0))
        .paddingInner(1)
        .round(true)(laid);
      const out: Box<{ node: Node; value: number }>[] = [];
      placed.each((node) => {
        if (node.depth === 0 && node.children) return;
        const fill =
          by === "category"
            ? (CATEGORY_COLOURS[node.data.name] ?? colourOf(node.data.name))
            : node.children
              ? node.depth % 2
                ? "#c9d3df"
                : "#dde4ec"
              : colourOf(node.data.name);
        out.push({
          x: node.x0,
          y: node.y0,
          w: node.x1 - node.x0,
          h: node.y1 - node.y0,
          fill,
          label: `${node.data.name}  ${bytes(node.value!)}`,
          data: { node: node.data, value: node.value! },
        });
      });
      return { boxes: out, height: HEIGHT };
    },
    ({ node, value }) =>
      `${node.key}: ${bytes(value)} (${percent(value, dump.data.total_bytes)} of ` +
      `all)${node.tensors ? `, ${counted(node.tensors, "tensor")}` : ""}`,
    ({ node }) => open(node),
  );
  place.append(boxes.element);
  boxes.draw();
  const rows = (laid.children ?? [])
    .slice(0, 40)
    .map((node) => [
      amount(node.value!, bytes(node.value!)),
      percent(node.value!, total),
      node.data.children.length > 0
        ? link("map", { by, at: node.data.key }, node.data.key)
        : link("tensors", { in: by, is: node.data.key }, node.data.key),
    ]);
  if (rows.length > 0) place.append(h("h3", {}, "The same as a table"), plainTable(["bytes", "%", by], rows, [0, 1]));
}
