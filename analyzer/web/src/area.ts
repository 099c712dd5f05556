// SPDX-License-Identifier: Apache-2.0
// Live bytes over time as stacked areas. A drag with the pointer, or the keys, choose a range.
import { scaleLinear } from "d3-scale";
import { area, curveStepAfter } from "d3-shape";
import { h, s, say } from "./dom";
import { bytes, duration } from "./format";

export interface Layer {
  name: string;
  fill: string;
  values: ArrayLike<number>;
}
export interface Mark {
  at: number;
  name: string;
  kind: "step" | "dump";
}
export interface AreaChart {
  about: string;
  height: number;
  begin: number;
  end: number;
  layers: Layer[];
  line: ArrayLike<number> | null; // line: reserved memory
  marks: Mark[];
  chosen: [number, number] | null;
  axes: boolean;
  describe: (part: number) => string;
  choose: ((from: number, to: number) => void) | null; // null: nothing can be chosen
  reset: () => void;
}

const LEAST_DRAG = 4; // pixels
const BYTE_TICKS = 5;
const LEAST_BETWEEN_STEPS = 5; // pixels

// Round numbers of bytes up to `most`.
function byteTicks(most: number): number[] {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(1, most)) / 10));
  return scaleLinear()
    .domain([0, most / unit])
    .ticks(BYTE_TICKS)
    .map((tick) => tick * unit);
}

export function areaChart(chart: AreaChart): HTMLElement {
  const count = chart.layers[0]?.values.length ?? 0;
  const frame = h("div", {
    className: "area",
    tabindex: 0,
    role: "application",
    "aria-label":
      `${chart.about}; arrow keys move through time, Shift with an arrow key in larger steps, Home and End` +
      (chart.choose ? "; space marks one side of a range, Enter chooses it, Escape shows everything" : ""),
  });
  const tip = h(
    "div",
    { className: "tip" },
    chart.axes && chart.choose ? "Drag over the chart to choose a range." : "",
  );
  let cursor = -1,
    marked = -1,
    dragged: number | null = null;
  let toTime = (pixel: number) => pixel,
    toPixel = (time: number) => time,
    cursorLine: SVGElement | null = null,
    shade: SVGElement | null = null;
  // Where there are more parts than pixels, a column shows the highest of its parts.
  let columns = 0,
    highest = new Uint32Array();
  const timeAt = (column: number) => chart.begin + ((chart.end - chart.begin) * column) / Math.max(1, columns);
  const columnAt = (time: number) =>
    Math.max(0, Math.min(columns - 1, Math.floor(((time - chart.begin) / (chart.end - chart.begin)) * columns)));

  function shadeFrom(from: number, to: number): void {
    shade!.setAttribute("x", String(toPixel(Math.min(from, to))));
    shade!.setAttribute("width", String(Math.abs(toPixel(to) - toPixel(from))));
  }
  function point(column: number, speak: boolean): void {
    cursor = column;
    const x = toPixel(timeAt(column + 0.5));
    cursorLine!.setAttribute("x1", String(x));
    cursorLine!.setAttribute("x2", String(x));
    cursorLine!.setAttribute("visibility", "visible");
    tip.textContent = chart.describe(highest[column]);
    if (speak) say(tip.textContent);
    if (marked >= 0) shadeFrom(timeAt(Math.min(marked, column)), timeAt(Math.max(marked, column) + 1));
  }

  function draw(): void {
    const width = frame.clientWidth,
      left = chart.axes ? 72 : 0,
      top = 6,
      bottom = chart.axes ? 22 : 2,
      high = chart.height;
    if (width === 0 || count === 0) return;
    const x = scaleLinear()
      .domain([chart.begin, chart.end])
      .range([left, width - 1]);
    const sums = new Float64Array(count);
    for (const layer of chart.layers) for (let i = 0; i < count; i++) sums[i] += layer.values[i];
    columns = Math.min(count, Math.floor(width - left));
    cursor = marked = -1;
    highest = new Uint32Array(columns);
    const line = new Float64Array(columns);
    let most = 1;
    for (let column = 0; column < columns; column++) {
      const from = Math.floor((column * count) / columns),
        to = Math.floor(((column + 1) * count) / columns);
      highest[column] = from;
      for (let i = from; i < to; i++) {
        if (sums[i] > sums[highest[column]]) highest[column] = i;
        line[column] = Math.max(line[column], chart.line?.[i] ?? 0);
      }
      most = Math.max(most, sums[highest[column]], line[column]);
    }
    const y = scaleLinear()
      .domain([0, most])
      .range([high - bottom, top]);
    toPixel = (time) => x(time);
    toTime = (pixel) => Math.max(chart.begin, Math.min(chart.end, x.invert(pixel)));
    const svg = s("svg", { width, height: high, "aria-hidden": true });
    if (chart.axes)
      for (const tick of byteTicks(most))
        svg.append(
          s("line", { x1: left, x2: width, y1: y(tick), y2: y(tick), class: "grid-line" }),
          s("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, bytes(tick)),
        );
    const index = Array.from({ length: columns + 1 }, (_, i) => i),
      below = new Float64Array(columns);
    for (const layer of chart.layers) {
      const base = below.slice();
      for (let i = 0; i < columns; i++) below[i] += layer.values[highest[i]];
      const at = (values: ArrayLike<number>) => (i: number) => y(values[Math.min(i, columns - 1)]);
      svg.append(
        s("path", {
          d:
            area<number>()
              .curve(curveStepAfter)
              .x((i) => x(timeAt(i)))
              .y0(at(base))
              .y1(at(below))(index) ?? "",
          fill: layer.fill,
          class: "layer",
        }),
      );
    }
    if (chart.line)
      svg.append(
        s("path", {
          d: Array.from(
            line,
            (value, i) => `${i === 0 ? "M" : "L"}${x(timeAt(i))},${y(value)}H${x(timeAt(i + 1))}`,
          ).join(""),
          class: "reserved",
        }),
      );
    if (chart.axes) {
      for (const tick of x.ticks(Math.max(2, Math.floor(width / 110))))
        svg.append(
          s(
            "text",
            { x: x(tick), y: high - 6, "text-anchor": x(tick) > width - 30 ? "end" : "middle" },
            duration(tick),
          ),
        );
      const written = { step: -Infinity, dump: -Infinity },
        wide = { step: 56, dump: 52 };
      let lastLine = -Infinity;
      for (const { at, name, kind } of chart.marks) {
        const place = x(at);
        // Marks closer than this hide what they mark: a short one stands below the chart.
        const whole = kind === "dump" || place - lastLine >= LEAST_BETWEEN_STEPS;
        if (whole && kind === "step") lastLine = place;
        if (whole) svg.append(s("line", { x1: place, x2: place, y1: top, y2: high - bottom, class: `mark ${kind}` }));
        else
          svg.append(s("line", { x1: place, x2: place, y1: high - bottom, y2: high - bottom + 3, class: "mark step" }));
        if (place - written[kind] < wide[kind] || place > width - 44) continue;
        svg.append(s("text", { x: place + 3, y: top + (kind === "dump" ? 22 : 9), class: "mark-name" }, name));
        written[kind] = place;
      }
    }
    shade = s("rect", { x: 0, y: 0, width: 0, height: high, class: "shade" });
    cursorLine = s("line", { x1: 0, x2: 0, y1: 0, y2: high - bottom, class: "cursor", visibility: "hidden" });
    svg.append(shade, cursorLine);
    if (chart.chosen) shadeFrom(...chart.chosen);
    frame.replaceChildren(svg);
  }

  const pixel = (event: PointerEvent) => event.clientX - frame.getBoundingClientRect().left;
  frame.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !shade || !chart.choose) return;
    dragged = pixel(event);
    frame.setPointerCapture(event.pointerId);
  });
  frame.addEventListener("pointermove", (event) => {
    if (!shade) return;
    point(columnAt(toTime(pixel(event))), false);
    if (dragged !== null && Math.abs(pixel(event) - dragged) >= LEAST_DRAG)
      shadeFrom(toTime(dragged), toTime(pixel(event)));
  });
  frame.addEventListener("pointerup", (event) => {
    const from = dragged;
    dragged = null;
    if (from === null || Math.abs(pixel(event) - from) < LEAST_DRAG) return;
    const times = [toTime(from), toTime(pixel(event))];
    chart.choose?.(Math.min(...times), Math.max(...times));
  });
  frame.addEventListener("pointercancel", () => {
    dragged = null;
  });
  frame.addEventListener("keydown", (event) => {
    const far = event.shiftKey ? Math.max(10, Math.round(columns / 20)) : 1;
    const moves: Record<string, number> = { ArrowRight: far, ArrowLeft: -far, Home: -Infinity, End: Infinity };
    if (event.key in moves)
      point(Math.max(0, Math.min(columns - 1, (cursor < 0 ? 0 : cursor) + moves[event.key])), true);
    else if (event.key === " " && cursor >= 0 && chart.choose) {
      marked = cursor;
      say(`range begins at ${duration(timeAt(marked))}`);
    } else if (event.key === "Enter" && marked >= 0)
      chart.choose?.(timeAt(Math.min(marked, cursor)), timeAt(Math.max(marked, cursor) + 1));
    else if (event.key === "Escape") chart.reset();
    else return;
    event.preventDefault();
  });
  new ResizeObserver(draw).observe(frame);
  queueMicrotask(draw);
  return h("div", {}, frame, chart.axes && tip);
}
