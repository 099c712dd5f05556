// SPDX-License-Identifier: Apache-2.0
// Values over steps, histograms, and calls of modules.
import { scaleLinear } from "d3-scale";
import { line as pathOf } from "d3-shape";
import type { Column } from "./data";
import { h, plainTable, s } from "./dom";
import { bytes, count } from "./format";
import { go, link, type Shown } from "./router";

interface Statistics {
  count: number;
  nan: number;
  mean: number | null;
  std: number | null;
  min: number | null;
  max: number | null;
  [name: string]: number | null;
}
interface Values {
  files: {
    path: string;
    program: string;
    problems: string[];
    values: number;
    findings: { headline: string; stack: string[] }[];
  }[];
  names: {
    file: number;
    name: string;
    operation: string | null;
    mode: string | null;
    values: number;
    first_step: number;
    last_step: number;
    dtype: string | null;
    shape: number[] | null;
    not_finite: number;
    last: Statistics | null;
  }[];
  series: {
    name: string;
    operation: string;
    mode: string;
    lines: { file: number; stat: string; x: Column; y: Column }[];
  }[];
  histograms: { file: number; name: string; what: string; step: number; numbers: Column }[];
}
interface CallNode {
  label: string;
  path: string;
  class: string | null;
  count: number;
  total_ns: number;
  self_ns: number;
  backward_ns: number;
  peak: number | null;
  saved_bytes: number;
  children: CallNode[];
}
interface Calls {
  file: string;
  head: string;
  tree: CallNode[];
}

// Lines differ in colour and in their dashes.
const INK = ["var(--bar)", "#b45309", "#0a7f5a", "#a8447e", "#6b6b6b"],
  DASHES = ["", "6 3", "2 3", "8 3 2 3", "1 2"];
const number = (value: number | null | undefined) =>
  value === null || value === undefined
    ? ""
    : Math.abs(value) >= 1e-3 && Math.abs(value) < 1e5
      ? String(Number(value.toPrecision(4)))
      : value === 0
        ? "0"
        : value.toExponential(2);

function chart(title: string, lines: { name: string; x: Column; y: Column }[]): HTMLElement {
  const width = 900,
    height = 260,
    left = 70,
    bottom = 30;
  const xs = lines.flatMap((line) => Array.from(line.x)),
    ys = lines.flatMap((line) => Array.from(line.y)).filter(Number.isFinite);
  if (ys.length === 0) return h("p", {}, "no finite number");
  const span = (values: number[]): [number, number] =>
    values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  const x = scaleLinear()
      .domain(span(xs))
      .range([left, width - 10]),
    y = scaleLinear()
      .domain(span(ys))
      .nice()
      .range([height - bottom, 10]);
  const svg = s("svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label":
      `${title}: ` +
      `${lines.map((line) => `${line.name} ${number(line.y[0])} to ${number(line.y[line.y.length - 1])}`).join("; ")}`,
    class: "chart",
  });
  for (const tick of y.ticks(5))
    svg.append(
      s("line", { x1: left, x2: width - 10, y1: y(tick), y2: y(tick), class: "grid-line" }),
      s("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, number(tick)),
    );
  for (const tick of x.ticks(8).filter(Number.isInteger))
    svg.append(s("text", { x: x(tick), y: height - 8, "text-anchor": "middle" }, String(tick)));
  lines.forEach((line, i) => {
    const points = Array.from(line.x, (at, k): [number, number] => [at, line.y[k]]);
    const draw = pathOf<[number, number]>()
      .defined((point) => Number.isFinite(point[1]))
      .x((point) => x(point[0]))
      .y((point) => y(point[1]));
    svg.append(
      s("path", {
        d: draw(points) ?? "",
        fill: "none",
        stroke: INK[i % INK.length],
        "stroke-width": 2,
        "stroke-dasharray": DASHES[i % DASHES.length],
      }),
    );
    if (points.length === 1)
      svg.append(s("circle", { cx: x(points[0][0]), cy: y(points[0][1]), r: 4, fill: INK[i % INK.length] }));
  });
  return h(
    "figure",
    {},
    h(
      "figcaption",
      {},
      title,
      lines.map((line, i) => [
        " ",
        h(
          "span",
          { className: "key", style: { color: INK[i % INK.length] } },
          `${["━", "╍", "┅", "┉", "┈"][i % 5]} ${line.name}`,
        ),
      ]),
    ),
    svg as unknown as Node,
  );
}

function histogram(title: string, numbers: Column): HTMLElement {
  const width = 900,
    height = 160,
    most = Array.from(numbers).reduce((high, value) => Math.max(high, value), 0),
    wide = width / Math.max(1, numbers.length);
  const svg = s("svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `${title}: ${Array.from(numbers).slice(0, 40).map(number).join(", ")}`,
    class: "chart",
  });
  Array.from(numbers, (value, i) =>
    svg.append(
      s("rect", {
        x: i * wide,
        width: Math.max(0.5, wide - 1),
        y: height - (most > 0 ? (height * Math.max(0, value)) / most : 0),
        height: most > 0 ? (height * Math.max(0, value)) / most : 0,
        fill: "var(--bar)",
      }),
    ),
  );
  return h("figure", {}, h("figcaption", {}, title), svg as unknown as Node);
}

export function valuesPage(place: HTMLElement, { report, params }: Shown): void {
  const values = report.data.values as Values,
    name = params.get("name") ?? "",
    wanted = params.get("stat") ?? "mean";
  place.append(h("h2", {}, name || "Values"));
  for (const file of values.files) {
    for (const finding of file.findings)
      place.append(h("p", { className: "problem" }, finding.headline), h("pre", {}, finding.stack.join("\n")));
    for (const problem of file.problems) place.append(h("p", { className: "problem" }, problem));
  }
  if (name === "") {
    place.append(
      h(
        "div",
        { className: "wide-table", tabindex: 0, role: "region", "aria-label": "values" },
        plainTable(
          ["name", "mode", "values", "steps", "dtype, shape", "mean", "std", "min", "max", "NaN, inf"],
          values.names
            .slice(0, 2000)
            .map((row) => [
              link("values", { name: row.name }, row.name),
              row.mode ?? "",
              count(row.values),
              `${row.first_step}-${row.last_step}`,
              `${row.dtype ?? ""} ${row.shape ? `[${row.shape.join(", ")}]` : ""}`,
              number(row.last?.mean),
              number(row.last?.std),
              number(row.last?.min),
              number(row.last?.max),
              row.not_finite ? count(row.not_finite) : "",
            ]),
          [2, 5, 6, 7, 8, 9],
        ),
      ),
    );
    return;
  }
  const series = values.series.filter((each) => each.name === name);
  const stats = [...new Set(series.flatMap((each) => each.lines.map((line) => line.stat)))];
  place.append(
    h(
      "div",
      { className: "tools" },
      link("values", {}, "all values"),
      h(
        "label",
        {},
        "statistic ",
        h(
          "select",
          { onchange: (event: Event) => go("values", { name, stat: (event.target as HTMLSelectElement).value }) },
          stats.map((stat) => h("option", { value: stat, selected: stat === wanted }, stat)),
        ),
      ),
    ),
  );
  for (const each of series) {
    const lines = each.lines
      .filter((line) => line.stat === wanted)
      .map((line) => ({ name: values.files[line.file].path, x: line.x, y: line.y }));
    if (lines.length > 0)
      place.append(
        chart(
          `${wanted} over steps${each.mode ? `, ${each.mode}` : ""}${each.operation ? `, ${each.operation}` : ""}`,
          lines,
        ),
      );
  }
  for (const each of values.histograms.filter((row) => row.name === name))
    place.append(histogram(`${each.what} at step ${each.step}`, each.numbers));
}

const time = (ns: number) =>
  ns < 1e6 ? `${(ns / 1e3).toFixed(0)} us` : ns < 1e9 ? `${(ns / 1e6).toFixed(1)} ms` : `${(ns / 1e9).toFixed(1)} s`;

function callItem(node: CallNode, total: number, open: boolean): HTMLElement {
  const share = total > 0 ? (100 * node.total_ns) / total : 0;
  const title = [
    h("strong", {}, node.label),
    node.class ? h("span", { className: "note" }, ` ${node.class}`) : "",
    ` ${count(node.count)}x, ${time(node.total_ns)} (${share.toFixed(0)} %), itself ${time(node.self_ns)}`,
    node.backward_ns > 0 ? `, backward ${time(node.backward_ns)}` : "",
    node.peak ? `, peak ${bytes(node.peak)}` : "",
    node.saved_bytes > 0 ? `, saved ${bytes(node.saved_bytes)}` : "",
  ];
  if (node.children.length === 0) return h("li", {}, title);
  return h(
    "li",
    {},
    h(
      "details",
      { open },
      h("summary", {}, title),
      h(
        "ul",
        {},
        node.children.map((child) => callItem(child, total, false)),
      ),
    ),
  );
}

export function callsPage(place: HTMLElement, { report }: Shown): void {
  place.append(h("h2", {}, "Calls of modules"));
  for (const calls of report.data.calls as Calls[]) {
    const total = calls.tree.reduce((sum, node) => sum + node.total_ns, 0);
    place.append(
      h("p", {}, calls.head),
      h(
        "ul",
        { className: "tree" },
        calls.tree.map((node) => callItem(node, total, true)),
      ),
    );
  }
}
