// SPDX-License-Identifier: Apache-2.0
// A recording: live bytes over time by allocation site or module; a range of it, what grew in it and what was alive at
// its peak.
import { areaChart, type Layer, type Mark } from "./area";
import { CATEGORY_COLOURS, COLOURS, colourOf } from "./canvas";
import { amount, button, copy, h, plainTable, saveTools } from "./dom";
import { bytes, count, counted, duration, percent, signedBytes } from "./format";
import { go, link, type Shown } from "./router";
import {
  beginOf,
  chosenRange,
  endOf,
  isWhole,
  peakOf,
  rangeText,
  type Chosen,
  type Grouping,
  type Spike,
} from "./recording";
import { Table, type TableColumn } from "./table";
import { stackTable } from "./tensor";

const BY: Record<string, string> = { category: "category", site: "allocation site", module: "module" };
const LAYERS = 8;
const REST = "#c4c8cc",
  PICKED = "#d55e00";
const LIVED = ["under 1 ms", "1 to 10 ms", "10 to 100 ms", "0.1 to 1 s", "1 to 10 s", "over 10 s", "to the end"];

interface Row {
  group: number;
  name: string;
  atPeak: number;
  begin: number;
  end: number;
  made: number;
  allocations: number;
}

function summed(grouping: Grouping, bySite: ArrayLike<number>): Float64Array {
  const out = new Float64Array(grouping.names.length);
  for (let site = 0; site < bySite.length; site++) out[grouping.of[site]] += bySite[site];
  return out;
}

function rowsOf(chosen: Chosen, grouping: Grouping): Row[] {
  const { recording, device, range } = chosen;
  const moments = [beginOf(range.first), peakOf(recording.highestPart(device, range)), endOf(range.last)];
  const [begin, peak, end] = recording.states(device, moments).map((state) => summed(grouping, state));
  const { bytes: madeBytes, counts } = recording.made(device, range),
    made = summed(grouping, madeBytes),
    allocations = summed(grouping, counts);
  return grouping.names
    .map((name, group) => ({
      group,
      name,
      atPeak: peak[group],
      begin: begin[group],
      end: end[group],
      made: made[group],
      allocations: allocations[group],
    }))
    .filter((row) => row.atPeak > 0 || row.begin > 0 || row.end > 0 || row.made > 0);
}

// Colours are the same in every range: of the peak of the whole recording.
function colours({ recording, device }: Chosen, grouping: Grouping): (group: number) => string {
  const whole = { first: 0, last: recording.data.parts - 1 };
  const peak = summed(grouping, recording.states(device, [peakOf(recording.highestPart(device, whole))])[0]);
  const order = [...peak.keys()]
    .filter((group) => peak[group] > 0)
    .sort((a, b) => peak[b] - peak[a])
    .slice(0, COLOURS.length);
  const places = new Map(order.map((group, i) => [group, i]));
  return (group) => COLOURS[places.get(group) ?? -1] ?? colourOf(grouping.names[group]);
}

const stepName = ({ recording }: Chosen, seconds: number) => {
  const step = recording.stepAt(seconds);
  return step < 0 ? "" : `, in step ${count(recording.data.steps!.number[step])}`;
};

function sentence(chosen: Chosen, rows: Row[]): string {
  const { recording, device, range } = chosen,
    part = recording.highestPart(device, range),
    highest = device.highest[part],
    at = device.highest_at[part];
  const most = rows.reduce<Row | null>((best, row) => (best === null || row.atPeak > best.atPeak ? row : best), null);
  const grown = rows.reduce((sum, row) => sum + row.end - row.begin, 0);
  const grower = rows.reduce<Row | null>(
    (best, row) => (best === null || row.end - row.begin > best.end - best.begin ? row : best),
    null,
  );
  return (
    `Peak ${bytes(highest)} at ${duration(at)}${stepName(chosen, at)}` +
    (most && most.atPeak > 0 ? `; ${percent(most.atPeak, highest)} of it: ${most.name}` : "") +
    `. From begin to end ${signedBytes(grown)}` +
    (grower && grower.end > grower.begin
      ? `; grew the most: ${grower.name}, ${signedBytes(grower.end - grower.begin)}`
      : "") +
    "."
  );
}

function links(shown: Shown, chosen: Chosen): HTMLElement {
  const { report } = shown,
    { recording, device, range } = chosen,
    from = recording.beginAt(range.first),
    to = recording.beginAt(range.last + 1);
  const of = { on: device.device };
  const dumps = report.dumps.filter(
    (dump) => dump.data.process.pid === recording.data.pid && dump.data.process.run_id === recording.data.run_id,
  );
  const born = { born: `${from.toFixed(6)}-${to.toFixed(6)}` };
  return h(
    "p",
    {},
    "Flame graph of: ",
    link("flame", { ...of, of: "peak" }, "this peak"),
    ", ",
    link("flame", { ...of, of: "made" }, "what was allocated"),
    ", ",
    link("flame", { ...of, of: "grown" }, "growth"),
    dumps.length > 0 && [
      ". Tensors allocated in this time: ",
      dumps.map((dump, i) => [
        i > 0 && ", ",
        link("tensors", { ...born, dump: String(dump.number) }, `alive in ${dump.data.path.split("/").pop()}`),
      ]),
    ],
    ".",
  );
}

function marksOf({ report }: Shown, { recording }: Chosen): Mark[] {
  const { steps, run_id, pid } = recording.data;
  const marks: Mark[] = steps
    ? Array.from(steps.begin, (at, i): Mark => ({ at, name: `step ${steps.number[i]}`, kind: "step" }))
    : [];
  for (const { data } of report.dumps) {
    if (data.process.run_id === run_id && data.process.pid === pid && data.process.dump_number > 0)
      marks.push({ at: data.process.after_start, name: `dump ${data.process.dump_number}`, kind: "dump" });
  }
  return marks;
}

// Of the chart: by category, or of groups of sites.
function categoryLayers({ device, range }: Chosen): Layer[] {
  const { names, bytes: columns } = device.categories;
  return names.map(
    (name, i): Layer => ({
      name,
      fill: CATEGORY_COLOURS[name] ?? colourOf(name),
      values: Float64Array.from({ length: range.last - range.first + 1 }, (_, k) => columns[i][range.first + k]),
    }),
  );
}

function siteLayers(
  chosen: Chosen,
  grouping: Grouping,
  layered: Row[],
  picked: Row | undefined,
  colour: (group: number) => string,
): Layer[] {
  const { recording, device, range } = chosen;
  const layerOf = new Uint8Array(grouping.of.length).fill(layered.length);
  const layerOfGroup = new Map(layered.map((row, i) => [row.group, i]));
  for (let site = 0; site < layerOf.length; site++)
    layerOf[site] = layerOfGroup.get(grouping.of[site]) ?? layered.length;
  const values = recording.layers(device, range, layerOf, layered.length + 1);
  const layers = layered.map(
    (row, i): Layer => ({ name: row.name, fill: picked ? PICKED : colour(row.group), values: values[i] }),
  );
  return [...layers, { name: picked ? "everything else" : "the rest", fill: REST, values: values[layered.length] }];
}

// What stays lies below what comes and goes; what is no group of its own lies above all.
function piled(layers: Layer[]): Layer[] {
  const sum = (layer: Layer) =>
    layer.fill === REST ? -1 : Array.from(layer.values).reduce((all, value) => all + value, 0);
  return layers
    .map((layer) => ({ layer, sum: sum(layer) }))
    .sort((a, b) => b.sum - a.sum)
    .map(({ layer }) => layer);
}

function charts(
  shown: Shown,
  chosen: Chosen,
  layers: Layer[],
  set: (values: Record<string, string>) => void,
): HTMLElement[] {
  const { recording, device, range } = chosen,
    { data } = recording;
  const begin = recording.beginAt(range.first),
    end = recording.beginAt(range.last + 1);
  const inside = marksOf(shown, chosen).filter((mark) => mark.at >= begin && mark.at <= end);
  const choose = (from: number, to: number) => set({ from: from.toFixed(6), to: to.toFixed(6) }),
    reset = () => set({ from: "", to: "" });
  const main = areaChart({
    about: `live bytes on ${device.device} ${rangeText(chosen)}`,
    height: 260,
    begin,
    end,
    layers,
    axes: true,
    chosen: null,
    choose,
    reset,
    marks: inside,
    line: device.reserved
      ? Array.from({ length: range.last - range.first + 1 }, (_, i) => device.reserved!.bytes[range.first + i])
      : null,
    describe: (i) => {
      const part = range.first + i,
        at = device.highest_at[part];
      const parts = layers
        .map((layer) => ({ name: layer.name, value: layer.values[i] }))
        .filter((layer) => layer.value > 0)
        .sort((a, b) => b.value - a.value)
        .slice(0, 3);
      const largest = parts.map((each) => `${bytes(each.value)} ${each.name}`);
      const reserved = device.reserved
        ? `, reserved ${bytes(device.reserved.bytes[part])}, ${bytes(device.reserved.free[part])} of it free`
        : "";
      return (
        `${duration(at)}${stepName(chosen, at)}: ` +
        `${bytes(device.highest[part])}${reserved}  (${largest.join("; ")})`
      );
    },
  });
  if (isWhole(recording, range)) return [main];
  return [
    main,
    areaChart({
      about: "the whole recording, with the chosen range",
      height: 44,
      begin: data.begin,
      end: data.end,
      layers: [{ name: "live bytes", fill: REST, values: device.highest }],
      line: null,
      marks: [],
      axes: false,
      chosen: [begin, end],
      choose,
      reset,
      describe: (part) => `${duration(recording.beginAt(part))}: ${bytes(device.highest[part])}`,
    }),
  ];
}

function siteTable(
  shown: Shown,
  chosen: Chosen,
  rows: Row[],
  by: string,
  swatch: ((row: Row) => string) | undefined,
  set: (values: Record<string, string>) => void,
): HTMLElement {
  const { params } = shown,
    highest = chosen.device.highest[chosen.recording.highestPart(chosen.device, chosen.range)];
  const growth = (row: Row) => row.end - row.begin;
  const ways: { title: string; value: (row: Row) => number; text: (row: Row) => string; phone?: string }[] = [
    { title: "at the peak", value: (row) => row.atPeak, text: (row) => bytes(row.atPeak), phone: "5.2rem" },
    { title: "share", value: (row) => row.atPeak, text: (row) => percent(row.atPeak, highest) },
    { title: "growth", value: growth, text: (row) => signedBytes(growth(row)), phone: "5.2rem" },
    { title: "allocated", value: (row) => row.made, text: (row) => bytes(row.made) },
    { title: "allocations", value: (row) => row.allocations, text: (row) => count(row.allocations) },
  ];
  const sort = Math.max(0, Math.min(ways.length - 1, Number(params.get("sort") ?? 0) || 0)),
    descending = params.get("order") !== "up";
  const columns: TableColumn[] = [
    ...ways.map(
      (way): TableColumn => ({
        title: way.title,
        text: (i) => way.text(rows[i]),
        width: "6.5rem",
        number: true,
        phone: way.phone,
        sort: (a, b) => way.value(rows[a]) - way.value(rows[b]),
      }),
    ),
    {
      title: by,
      text: (i) => rows[i].name,
      swatch: swatch && ((i) => swatch(rows[i])),
      width: "minmax(10rem, 1fr)",
      phone: "minmax(0, 1fr)",
    },
  ];
  const order = Uint32Array.from(rows, (_, i) => i).sort(
    (a, b) => (descending ? -1 : 1) * columns[sort].sort!(a, b) || a - b,
  );
  const table = new Table(
    columns,
    `${by} in this time`,
    (i) => set({ pick: rows[i].name }),
    (column) => set({ sort: String(column), order: column === sort && descending ? "up" : "down" }),
  );
  const asRows = () => [
    ["at_peak", "begin", "end", "allocated", "allocations", by],
    ...Array.from(order, (i) => [
      rows[i].atPeak,
      rows[i].begin,
      rows[i].end,
      rows[i].made,
      rows[i].allocations,
      rows[i].name,
    ]),
  ];
  table.show(order, sort, descending);
  return h("div", { className: "low" }, table.element, saveTools("timeline", asRows));
}

function stepTable(chosen: Chosen, set: (values: Record<string, string>) => void): (HTMLElement | string)[] {
  const { recording, range } = chosen,
    steps = recording.data.steps;
  if (!steps) return [];
  const begin = recording.beginAt(range.first),
    end = recording.beginAt(range.last + 1),
    rows: number[] = [];
  for (let i = 0; i < steps.begin.length; i++) if (steps.end[i] > begin && steps.begin[i] < end) rows.push(i);
  const unusual = rows.filter((i) => steps.unusual[i] === 1).length;
  const columns: TableColumn[] = [
    { title: "step", text: (i) => count(steps.number[i]), width: "6rem", number: true, phone: "3.5rem" },
    { title: "peak", text: (i) => bytes(steps.peak[i]), width: "7rem", number: true, phone: "5rem" },
    { title: "allocated", text: (i) => bytes(steps.bytes[i]), width: "7rem", number: true, phone: "5rem" },
    { title: "allocations", text: (i) => count(steps.allocations[i]), width: "7rem", number: true },
    { title: "live at its end", text: (i) => bytes(steps.live[i]), width: "8rem", number: true, phone: "5rem" },
    { title: "begins", text: (i) => duration(steps.begin[i]), width: "6rem", number: true },
    { title: "lasts", text: (i) => duration(steps.end[i] - steps.begin[i]), width: "6rem", number: true },
    { title: "", text: (i) => (steps.unusual[i] ? "more than its neighbours" : ""), width: "minmax(6rem, 1fr)" },
  ];
  const order = Uint32Array.from([...rows.filter((i) => steps.unusual[i]), ...rows.filter((i) => !steps.unusual[i])]);
  const table = new Table(
    columns,
    "steps",
    (i) => set({ from: steps.begin[i].toFixed(6), to: steps.end[i].toFixed(6) }),
    () => undefined,
  );
  table.show(order, -1, false);
  const asRows = () => [
    ["step", "peak", "allocated", "allocations", "live_at_end", "begin_s", "end_s", "unusual"],
    ...Array.from(order, (i) => [
      steps.number[i],
      steps.peak[i],
      steps.bytes[i],
      steps.allocations[i],
      steps.live[i],
      steps.begin[i],
      steps.end[i],
      steps.unusual[i],
    ]),
  ];
  return [
    h("h3", {}, "Steps"),
    h(
      "p",
      { className: "note" },
      `${counted(rows.length, "step")}; ` +
        (unusual === 0
          ? "none allocates more than its neighbours or has a higher peak"
          : `${counted(unusual, "step")} first that allocate${unusual === 1 ? "s" : ""} more than the neighbours, ` +
            "or have a higher peak") +
        ". Enter or a click chooses the time of a step.",
    ),
    h("div", { className: "low" }, table.element, saveTools("steps", asRows)),
  ];
}

function spikeTable({ recording }: Chosen): (HTMLElement | string)[] {
  const { spikes } = recording.data;
  if (spikes.length === 0) return [];
  const around = (from: number, to: number) => {
    const margin = Math.max((to - from) / 2, recording.partLength);
    return { from: Math.max(recording.data.begin, from - margin).toFixed(6), to: (to + margin).toFixed(6) };
  };
  const consistsOf = (spike: Spike) => {
    const sums = new Map<string, number>();
    for (const { site, bytes: size } of spike.parts)
      sums.set(recording.siteName(site), (sums.get(recording.siteName(site)) ?? 0) + size);
    return [...sums]
      .sort(([, a], [, b]) => b - a)
      .slice(0, 3)
      .map(([name, size]) => h("div", {}, `${bytes(size)} ${name}`));
  };
  return [
    h("h3", {}, "Highest spikes"),
    h("p", { className: "note" }, "bytes above both sides"),
    plainTable(
      ["bytes", "lasted", "when", "consists of"],
      spikes.map((spike) => [
        amount(spike.bytes, bytes(spike.bytes)),
        amount(spike.end - spike.begin, duration(spike.end - spike.begin)),
        link(
          "timeline",
          around(spike.begin, spike.end),
          `${duration(spike.at)}${spike.step === null ? "" : `, step ${count(spike.step)}`}`,
        ),
        consistsOf(spike),
      ]),
      [0, 1],
    ),
  ];
}

function deviceTable({ device, range, recording }: Chosen): (HTMLElement | string)[] {
  const moments = (device.reserved?.moments ?? []).filter(
    (each) => each.at >= recording.beginAt(range.first) && each.at <= recording.beginAt(range.last + 1),
  );
  if (moments.length === 0) return [];
  return [
    h("h3", {}, `Memory reserved on ${device.device}`),
    h(
      "p",
      { className: "note" },
      `at most ${bytes(device.reserved!.peak)}; fragmentation: the share of the free bytes outside the largest piece`,
    ),
    plainTable(
      ["when", "reserved", "segments", "free", "largest piece", "fragmentation"],
      moments.map((each) => [
        duration(each.at),
        amount(each.reserved, bytes(each.reserved)),
        count(each.segments),
        amount(each.free, bytes(each.free)),
        amount(each.largest, bytes(each.largest)),
        amount(each.fragmentation, `${Math.round(100 * each.fragmentation)} %`),
      ]),
      [0, 1, 2, 3, 4, 5],
    ),
  ];
}

function churnTable({ recording }: Chosen): (HTMLElement | string)[] {
  const { churn, steps } = recording.data,
    number = steps ? Math.max(1, steps.begin.length) : 1,
    per = steps ? " a step" : "";
  const sums = new Map<string, { bytes: number; allocations: number; temporary: number }>();
  for (let i = 0; i < churn.site.length; i++) {
    const name = recording.siteName(churn.site[i]),
      sum = sums.get(name) ?? { bytes: 0, allocations: 0, temporary: 0 };
    sum.bytes += churn.bytes[i];
    sum.allocations += churn.allocations[i];
    sum.temporary += churn.temporary[i];
    sums.set(name, sum);
  }
  const rows = [...sums].filter(([, sum]) => sum.bytes > 0).sort(([, a], [, b]) => b.bytes - a.bytes);
  return [
    h("h3", {}, "Allocated over time"),
    h(
      "p",
      { className: "note" },
      `the whole recording; temporary: freed ` +
        (steps ? "in the step that allocated it" : "within 10 ms") +
        (rows.length > 30 ? `; showing 30 of ${count(rows.length)}` : ""),
    ),
    plainTable(
      [`bytes${per}`, `allocations${per}`, "temporary", "allocated at"],
      rows
        .slice(0, 30)
        .map(([name, sum]) => [
          amount(sum.bytes / number, bytes(Math.floor(sum.bytes / number))),
          number === 1 ? count(sum.allocations) : (sum.allocations / number).toFixed(1),
          percent(sum.temporary, sum.bytes),
          name,
        ]),
      [0, 1, 2],
    ),
  ];
}

function lifetimes({ recording }: Chosen): (HTMLElement | string)[] {
  const { counts, bytes: sizes } = recording.data.lifetimes,
    most = Math.max(...sizes, 1);
  return [
    h("h3", {}, "How long allocations lived"),
    h(
      "div",
      { className: "bars" },
      LIVED.map(
        (name, i) =>
          counts[i] > 0 &&
          h(
            "div",
            { className: "bar-row" },
            h("span", { className: "bar-name" }, name),
            h(
              "span",
              { className: "bar-line" },
              h("span", { className: "bar", style: { width: `${(100 * sizes[i]) / most}%` } }),
            ),
            h("span", { className: "bar-size" }, `${bytes(sizes[i])}, ${count(counts[i])}`),
          ),
      ),
    ),
  ];
}

export function timelinePage(place: HTMLElement, shown: Shown): void {
  const { report, params } = shown,
    chosen = chosenRange(report, params);
  place.append(h("h2", {}, "Timeline"));
  const recording = chosen?.recording ?? report.recordings[0],
    { data } = recording;
  const keep: Record<string, string> = {};
  for (const key of ["by", "pick", "sort", "order"]) if (params.has(key)) keep[key] = params.get(key)!;
  const set = (values: Record<string, string>) => go("timeline", { ...keep, ...values });
  const select = (
    label: string,
    key: string,
    choices: [string, string][],
    now: string,
    clear: Record<string, string> = {},
  ) =>
    choices.length > 1 &&
    h(
      "label",
      {},
      label,
      " ",
      h(
        "select",
        { onchange: (event: Event) => set({ ...clear, [key]: (event.target as HTMLSelectElement).value }) },
        choices.map(([value, text]) => h("option", { value, selected: value === now }, text)),
      ),
    );
  const recordings = select(
    "recording",
    "rec",
    report.recordings.map((each, i) => [String(i), each.data.path.split("/").pop()!]),
    String(report.recordings.indexOf(recording)),
    { from: "", to: "", on: "", pick: "" },
  );
  const [lead, rest] = data.text.split("\n");
  const partly = chosen && !isWhole(recording, chosen.range);
  place.append(h("p", { className: partly ? "" : "lead" }, lead), h("p", {}, rest));
  for (const problem of data.problems) place.append(h("p", { className: "problem", role: "note" }, problem));
  if (data.lost > 0)
    place.append(
      h("p", { className: "problem" }, `${counted(data.lost, "event")} were lost: the curve has gaps there.`),
    );
  if (!chosen || chosen.device.peak_bytes === 0) {
    place.append(h("div", { className: "tools" }, recordings));
    return;
  }
  const { device, range } = chosen,
    by = params.get("by") ?? "",
    whole = isWhole(recording, range);
  const layering = by in BY ? by : "category",
    tableBy = layering === "module" ? "module" : "site";
  const grouping = recording.grouping(tableBy),
    rows = rowsOf(chosen, grouping),
    colour = colours(chosen, grouping);
  const picked = params.has("pick") ? rows.find((row) => row.name === params.get("pick")) : undefined;
  const layered = picked
    ? [picked]
    : [...rows]
        .sort((a, b) => b.atPeak - a.atPeak)
        .slice(0, LAYERS)
        .filter((row) => row.atPeak > 0);
  const time = (key: string, label: string, value: number) =>
    h(
      "label",
      {},
      `${label} `,
      h("input", {
        type: "text",
        size: 8,
        inputmode: "decimal",
        value: value.toFixed(3),
        onchange: (event: Event) =>
          set({
            from: recording.beginAt(range.first).toFixed(6),
            to: recording.beginAt(range.last + 1).toFixed(6),
            [key]: (event.target as HTMLInputElement).value,
          }),
      }),
      " s",
    );
  place.append(
    h(
      "div",
      { className: "tools" },
      recordings,
      select(
        "device",
        "on",
        data.devices.filter((each) => each.peak_bytes > 0).map((each) => [each.device, each.device]),
        device.device,
        { pick: "" },
      ),
      select("by", "by", Object.entries(BY), layering, { pick: "" }),
      time("from", "from", recording.beginAt(range.first)),
      time("to", "to", recording.beginAt(range.last + 1)),
      whole &&
        data.steps &&
        data.steps.number.length > 2 &&
        button(
          `steps ${count(data.steps.number[0])} to ${count(data.steps.number[data.steps.number.length - 2])}`,
          () =>
            set({
              from: data.steps!.begin[0].toFixed(6),
              to: data.steps!.begin[data.steps!.begin.length - 1].toFixed(6),
            }),
        ),
      !whole && button("everything", () => set({ from: "", to: "" })),
      picked && button(`${picked.name.slice(0, 50)} ✕`, () => set({ pick: "" })),
      h("output", { id: "range-peak" }, `peak ${bytes(device.highest[recording.highestPart(device, range)])}`),
    ),
  );
  const byCategory = layering === "category" && !picked;
  const layers = byCategory ? categoryLayers(chosen) : siteLayers(chosen, grouping, layered, picked, colour),
    peak = recording.highestPart(device, range);
  const atPeak = (layer: Layer) => layer.values[peak - range.first];
  place.append(...charts(shown, chosen, piled(layers), set));
  place.append(
    h(
      "p",
      { className: "legend" },
      h("span", {}, "at the peak:"),
      [...layers]
        .sort((a, b) => atPeak(b) - atPeak(a))
        .filter((layer) => layer.values.length > 0)
        .map((layer) =>
          h("span", {}, h("i", { style: { background: layer.fill } }), ` ${layer.name} ${bytes(atPeak(layer))}`),
        ),
      device.reserved && h("span", {}, h("i", { className: "reserved-key" }), " reserved by the device's allocator"),
    ),
  );
  const inferred = device.categories.inferred[peak];
  if (byCategory && inferred > 0)
    place.append(
      h(
        "p",
        { className: "note" },
        `categories of ${bytes(inferred)} at the peak are inferred from call stacks and lifetimes; the ` +
          `others are those of dumps of this run`,
      ),
    );
  if (!whole) place.append(h("p", { className: "lead", id: "range-says" }, sentence(chosen, rows)));
  place.append(
    links(shown, chosen),
    siteTable(
      shown,
      chosen,
      rows,
      BY[tableBy],
      byCategory ? undefined : (row) => (layered.includes(row) ? (picked ? PICKED : colour(row.group)) : REST),
      set,
    ),
  );
  if (picked) {
    const sites = [...grouping.of.keys()].filter((site) => grouping.of[site] === picked.group),
      state = recording.states(device, [peakOf(recording.highestPart(device, range))])[0];
    const most = sites.reduce((best, site) => (state[site] > state[best] ? site : best), sites[0]);
    place.append(
      h("h3", {}, picked.name),
      h(
        "p",
        { className: "note" },
        sites.length > 1 ? `${counted(sites.length, "stack")}; the one with the most at the peak:` : "",
      ),
      stackTable(recording.stacks, most),
    );
  }
  place.append(
    h(
      "p",
      { className: "note" },
      `The recording is in ${count(data.parts)} parts of ${duration(recording.partLength)}; of each this ` +
        `page has the moment at which the most was live, exactly, and a column of the chart shows the highest ` +
        `of its parts. Ranges are rounded to whole parts. There were ${counted(data.events, "event")}; ` +
        "peak, steps, spikes and sums are of all of them." +
        (data.devices.length > 1 ? ` Steps, spikes, lifetimes and 'allocated over time' are of ${data.device}.` : "") +
        (data.ended ? "" : " The recording has no end: the program still ran or was killed."),
    ),
  );
  place.append(
    ...stepTable(chosen, set),
    ...spikeTable(chosen),
    ...deviceTable(chosen),
    ...churnTable(chosen),
    ...lifetimes(chosen),
    h(
      "details",
      {},
      h("summary", {}, "as 'tensorscope timeline' prints it"),
      button("copy", () => void copy(data.text)),
      h("pre", {}, data.text),
    ),
  );
}
