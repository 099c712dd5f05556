// SPDX-License-Identifier: Apache-2.0
// The table of all tensors: search, filters, groups, order.
import { button, h, saveTools, say } from "./dom";
import type { Dump } from "./data";
import { age, bytes, count, counted, duration, parseSize } from "./format";
import { go, type Params, type Shown } from "./router";
import { Table, type TableColumn } from "./table";

type Field = "category" | "device" | "dtype" | "module" | "shape" | "class" | "thread" | "type";
const CHOICES: Field[] = ["category", "device", "dtype"];
const GROUPS: (Field | "site" | "holder")[] = [
  "category",
  "site",
  "module",
  "holder",
  "dtype",
  "shape",
  "device",
  "thread",
  "class",
  "type",
];
const SEARCHED = [
  "name",
  "names",
  "module",
  "category",
  "dtype",
  "shape",
  "class",
  "holders",
  "type",
  "grad_fn",
] as const;

export interface Filter {
  q: string;
  min: number;
  born: [number, number] | null;
  group: string;
  value: string;
  fields: Partial<Record<Field, string>>;
}

export function filterOf(params: Params): Filter {
  const fields: Filter["fields"] = {};
  for (const field of CHOICES) if (params.get(field)) fields[field] = params.get(field)!;
  const born = /^([\d.]+)-([\d.]+)$/.exec(params.get("born") ?? "");
  return {
    born: born && [Number(born[1]), Number(born[2])],
    q: (params.get("q") ?? "").toLowerCase(),
    min: parseSize(params.get("min") ?? ""),
    group: params.get("in") ?? "",
    value: params.get("is") ?? "",
    fields,
  };
}

// What a text is for each of a dump's texts: computed once a filter, so that rows compare numbers.
function matching(dump: Dump, test: (text: string) => boolean): Uint8Array {
  const out = new Uint8Array(dump.data.texts.length);
  dump.data.texts.forEach((text, i) => {
    if (test(text)) out[i] = 1;
  });
  return out;
}

function holderRoot(dump: Dump, row: number): string {
  const held = dump.text(dump.data.tensors.holders[row]).split("\n", 1)[0].split("\t")[1] ?? "";
  if (held === "") return "(not known)";
  return held
    .replace(/ at 0x[0-9a-f]+/g, "")
    .replace(/\[\d+\]/g, "[*]")
    .replace(/#\d+/g, "#*");
}

export function keyOf(dump: Dump, group: string, row: number): string {
  const t = dump.data.tensors;
  if (group === "site") return dump.stacks.where(t.site[row]);
  if (group === "holder") return holderRoot(dump, row);
  return dump.text(t[group as Field][row]) || (group === "module" ? dump.data.no_module : "(not known)");
}

export function filtered(dump: Dump, filter: Filter): Uint32Array {
  const t = dump.data.tensors,
    n = dump.tensorCount;
  const out = new Uint32Array(n);
  let kept = 0;
  const id = /^#?(\d+)$/.exec(filter.q);
  const hits = filter.q === "" ? null : matching(dump, (text) => text.toLowerCase().includes(filter.q));
  const where = dump.data.stacks.where;
  const fields = Object.entries(filter.fields).map(
    ([field, value]) => [t[field as Field], dump.data.texts.indexOf(value)] as const,
  );
  rows: for (let i = 0; i < n; i++) {
    for (const [column, wanted] of fields) if (column[i] !== wanted) continue rows;
    if (filter.min >= 0 && dump.owned[i] < filter.min) continue;
    if (filter.born) {
      const at = t.age[i] < 0 ? -1 : dump.data.process.after_start - t.age[i];
      if (at < filter.born[0] || at >= filter.born[1]) continue;
    }
    if (hits) {
      let hit = id !== null && t.id[i] === Number(id[1]);
      for (let k = 0; !hit && k < SEARCHED.length; k++) hit = hits[t[SEARCHED[k]][i]] === 1;
      if (!hit && !(t.site[i] > 0 && hits[where[t.site[i] - 1]] === 1)) continue;
    }
    if (filter.group !== "" && keyOf(dump, filter.group, i) !== filter.value) continue;
    out[kept++] = i;
  }
  return out.subarray(0, kept);
}

export interface GroupSum {
  key: string;
  tensors: number;
  bytes: number;
}

// The group of a block in no tensor.
function blockKey(dump: Dump, by: string, item: number): string {
  const { site, device } = dump.data.items;
  if (by === "category") return "workspace";
  if (by === "device") return dump.text(device[item]);
  if (by === "module")
    return (site[item] > 0 && dump.text(dump.data.stacks.module[site[item] - 1])) || dump.data.no_module;
  return "(in no tensor)";
}

// As report --by: bytes of a storage count for the tensor that stands for it; blocks in no tensor are a group of their
// own where nothing is filtered.
export function groups(dump: Dump, by: string, rows: ArrayLike<number>): GroupSum[] {
  const sums = new Map<string, GroupSum>();
  const at = (key: string) => {
    let sum = sums.get(key);
    if (!sum) sums.set(key, (sum = { key, tensors: 0, bytes: 0 }));
    return sum;
  };
  const unfiltered = rows.length === dump.tensorCount;
  const bySpeaker = by === "category" || by === "module" || by === "holder";
  const share = bySpeaker ? dump.spoken : dump.owned;
  for (let k = 0; k < rows.length; k++) {
    const sum = at(keyOf(dump, by, rows[k]));
    sum.tensors++;
    if (!unfiltered || by !== "site") sum.bytes += share[rows[k]];
  }
  if (unfiltered) {
    const items = dump.data.items;
    for (let i = 0; i < items.bytes.length; i++) {
      if (by === "site") at(dump.stacks.where(items.site[i])).bytes += items.bytes[i];
      else if (items.owner[i] === 0) at(blockKey(dump, by, i)).bytes += items.bytes[i];
    }
  }
  return [...sums.values()].sort((a, b) => b.bytes - a.bytes || b.tensors - a.tensors || (a.key < b.key ? -1 : 1));
}

function columnsOf(dump: Dump): TableColumn[] {
  const t = dump.data.tensors;
  const name = (row: number) => dump.text(t.name[row]) || `#${t.id[row]}`;
  const byText = (column: ArrayLike<number>) => (a: number, b: number) =>
    dump.text(column[a]) < dump.text(column[b]) ? -1 : column[a] === column[b] ? 0 : 1;
  return [
    {
      title: "memory",
      text: (row) => (dump.knows(row, "storage") ? bytes(dump.owned[row]) : "not known"),
      width: "6.5rem",
      number: true,
      phone: "5.2rem",
      sort: (a, b) => dump.owned[a] - dump.owned[b],
    },
    { title: "name", text: name, width: "minmax(8rem, 2fr)", phone: "minmax(0, 2fr)", sort: byText(t.name) },
    {
      title: "shape",
      text: (row) => dump.text(t.shape[row]),
      width: "minmax(6rem, 1fr)",
      sort: (a, b) => t.bytes[a] - t.bytes[b],
    },
    { title: "dtype", text: (row) => dump.text(t.dtype[row]), width: "5.5rem", sort: byText(t.dtype) },
    { title: "device", text: (row) => dump.text(t.device[row]), width: "4.5rem", sort: byText(t.device) },
    {
      title: "category",
      text: (row) => dump.text(t.category[row]),
      width: "9rem",
      phone: "minmax(0, 1fr)",
      sort: byText(t.category),
    },
    {
      title: "age",
      text: (row) => age(t.age[row]),
      width: "4.5rem",
      number: true,
      sort: (a, b) => t.age[a] - t.age[b],
    },
    {
      title: "allocated at",
      text: (row) => dump.stacks.where(t.site[row]),
      width: "minmax(8rem, 2fr)",
      sort: (a, b) => (dump.stacks.where(t.site[a]) < dump.stacks.where(t.site[b]) ? -1 : 1),
    },
    { title: "id", text: (row) => `#${t.id[row]}`, width: "5.5rem", number: true, sort: (a, b) => t.id[a] - t.id[b] },
  ];
}

// Sorted row numbers are kept for the last order: a filter then needs no sort.
const orders = new WeakMap<Dump, Map<number, Uint32Array>>();
function sorted(dump: Dump, columns: TableColumn[], by: number, descending: boolean, rows: Uint32Array): Uint32Array {
  let known = orders.get(dump);
  if (!known) orders.set(dump, (known = new Map()));
  let order = known.get(by);
  if (!order) {
    order = Uint32Array.from({ length: dump.tensorCount }, (_, i) => i).sort(columns[by].sort);
    known.set(by, order);
  }
  const wanted = new Uint8Array(dump.tensorCount);
  for (const row of rows) wanted[row] = 1;
  const out = new Uint32Array(rows.length);
  let kept = 0;
  for (let i = 0; i < order.length; i++) {
    const row = descending ? order[order.length - 1 - i] : order[i];
    if (wanted[row]) out[kept++] = row;
  }
  return out;
}

export function tensorsPage(place: HTMLElement, shown: Shown): void {
  const { dump, params } = shown,
    t = dump.data.tensors;
  const filter = filterOf(params),
    columns = columnsOf(dump);
  const by = Math.max(0, Math.min(columns.length - 1, Number(params.get("sort") ?? 0) || 0)),
    descending = (params.get("order") ?? "down") === "down";
  const set = (key: string, value: string) => go("tensors", { ...Object.fromEntries(params), [key]: value });
  const rows = filtered(dump, filter);
  let owned = 0;
  for (const row of rows) owned += dump.owned[row];
  const what = `${counted(rows.length, "tensor")}, ${bytes(owned)}`;
  say(what);

  const choose = (label: string, key: string, values: string[], now: string, none: string) =>
    h(
      "label",
      {},
      label + " ",
      h(
        "select",
        { onchange: (event: Event) => set(key, (event.target as HTMLSelectElement).value) },
        h("option", { value: "", selected: now === "" }, none),
        values.map((value) => h("option", { value, selected: value === now }, value)),
      ),
    );
  const present = (field: Field) => [...new Set(t[field])].map((number) => dump.text(number)).sort();
  const group = params.get("by") ?? "";
  place.append(
    h("h2", {}, "Tensors"),
    h(
      "div",
      { className: "tools" },
      CHOICES.map((field) => choose(field, field, present(field), filter.fields[field] ?? "", "all")),
      h(
        "label",
        {},
        "at least ",
        h("input", {
          type: "text",
          size: 7,
          value: params.get("min") ?? "",
          placeholder: "1 MiB",
          onchange: (event: Event) => set("min", (event.target as HTMLInputElement).value),
        }),
      ),
      choose("group by", "by", GROUPS, group, "nothing"),
      filter.group !== "" &&
        button(`${filter.group}: ${filter.value.slice(0, 60)} ✕`, () =>
          go("tensors", { ...Object.fromEntries(params), in: "", is: "" }),
        ),
      filter.born &&
        button(`allocated from ${duration(filter.born[0])} to ${duration(filter.born[1])} ✕`, () => set("born", "")),
      filter.q !== "" && button(`"${params.get("q")}" ✕`, () => set("q", "")),
      h("output", { id: "sum" }, what),
    ),
  );
  if (group !== "" && GROUPS.includes(group as Field)) return groupTable(place, shown, group, rows);
  const table = new Table(
    columns,
    "tensors",
    (row) => go("tensor", { id: String(t.id[row]) }),
    (column) => {
      const down = column === by ? !descending : columns[column].number === true;
      go("tensors", { ...Object.fromEntries(params), sort: String(column), order: down ? "down" : "up" });
    },
  );
  const asRows = () => [
    columns.map((column) => column.title),
    ...Array.from(ordered, (row) =>
      columns.map((column) => (column.title === "memory" ? dump.owned[row] : column.text(row))),
    ),
  ];
  const ordered = sorted(dump, columns, by, descending, rows);
  place.append(
    table.element,
    saveTools("tensors", asRows),
    h(
      "p",
      { className: "note" },
      "memory: bytes of the storage, for the oldest tensor in it; views and aliases show 0 B, so that the " +
        "column adds up.",
    ),
  );
  table.show(ordered, by, descending);
}

function groupTable(place: HTMLElement, shown: Shown, by: string, rows: Uint32Array): void {
  const { dump, params } = shown;
  const sums = groups(dump, by, rows),
    total = sums.reduce((sum, group) => sum + group.bytes, 0);
  const columns: TableColumn[] = [
    { title: "memory", text: (row) => bytes(sums[row].bytes), width: "7rem", number: true, phone: "5.2rem" },
    {
      title: "share",
      text: (row) => (total > 0 ? `${((100 * sums[row].bytes) / total).toFixed(1)} %` : ""),
      width: "5rem",
      number: true,
    },
    { title: "tensors", text: (row) => count(sums[row].tensors), width: "6rem", number: true, phone: "4rem" },
    { title: by, text: (row) => sums[row].key, width: "minmax(8rem, 1fr)", phone: "minmax(0, 1fr)" },
  ];
  const table = new Table(
    columns,
    `tensors by ${by}`,
    (row) => go("tensors", { ...Object.fromEntries(params), by: "", in: by, is: sums[row].key }),
    () => undefined,
  );
  const asRows = () => [["bytes", "tensors", by], ...sums.map((sum) => [sum.bytes, sum.tensors, sum.key])];
  place.append(table.element, saveTools(`tensors-by-${by}`, asRows));
  table.show(
    Uint32Array.from(sums, (_, i) => i),
    0,
    true,
  );
}
