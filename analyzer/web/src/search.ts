// SPDX-License-Identifier: Apache-2.0
// Search in everything that the page has: tensors, allocation sites, modules, holders, findings, the graph, values,
// calls, pages.
import type { Dump } from "./data";
import type { Graph } from "./graph";
import { amount, h, plainTable, say } from "./dom";
import { bytes, count, counted } from "./format";
import { link, type Shown } from "./router";
import { filtered, filterOf, groups } from "./tensors";

const MOST = 10;
interface Hit {
  size: number | null;
  what: Node | string;
  note: string;
}
interface Section {
  title: string;
  hits: Hit[];
  all?: HTMLElement;
}

interface Finding {
  title: string;
  held_by: string;
  look_at: string;
  bytes: number;
}
interface CallNode {
  label: string;
  path: string;
  class: string | null;
  count: number;
  children: CallNode[];
}

const everyTensor = (dump: Dump) => Uint32Array.from({ length: dump.tensorCount }, (_, i) => i);

function tensorHits({ dump }: Shown, q: string): Section {
  const rows = filtered(dump, filterOf(new Map([["q", q]])));
  const top = [...rows].sort((a, b) => dump.owned[b] - dump.owned[a]).slice(0, MOST),
    t = dump.data.tensors;
  return {
    title: counted(rows.length, "tensor"),
    all: rows.length > 0 ? link("tensors", { q }, "all of them in the table") : undefined,
    hits: top.map((row) => ({
      size: dump.owned[row],
      what: link("tensor", { id: String(t.id[row]) }, `#${t.id[row]} ${dump.text(t.name[row])}`.trim()),
      note: [dump.text(t.dtype[row]), dump.text(t.shape[row]), dump.text(t.category[row])].join(" "),
    })),
  };
}

function groupHits({ dump }: Shown, by: string, title: string, found: (text: string) => boolean): Section {
  const sources = new Map<string, string>();
  if (by === "site")
    for (let site = 1; site < dump.stacks.count; site++) sources.set(dump.stacks.where(site), dump.stacks.source(site));
  const hits = groups(dump, by, everyTensor(dump)).filter(
    (group) => found(group.key) || found(sources.get(group.key) ?? ""),
  );
  return {
    title: counted(hits.length, title),
    hits: hits.map((group) => ({
      size: group.bytes,
      what: link("tensors", { in: by, is: group.key }, group.key),
      note: [sources.get(group.key), counted(group.tensors, "tensor")].filter(Boolean).join("   "),
    })),
  };
}

function recordingHits({ report }: Shown, found: (text: string) => boolean): Section {
  const hits: Hit[] = [];
  report.recordings.forEach(({ data, stacks, siteName }, rec) => {
    const recording = report.recordings[rec],
      sums = new Map<string, number>();
    for (let i = 0; i < data.churn.site.length; i++) {
      const site = data.churn.site[i],
        name = siteName.call(recording, site);
      if (found(name) || found(stacks.source(site))) sums.set(name, (sums.get(name) ?? 0) + data.churn.bytes[i]);
    }
    for (const [name, sum] of sums)
      hits.push({
        size: sum,
        what: link("timeline", { rec: rec === 0 ? "" : String(rec), pick: name }, name),
        note: "allocated over time",
      });
  });
  return {
    title: `${counted(hits.length, "allocation site")} of the recording`,
    hits: hits.sort((a, b) => b.size! - a.size!),
  };
}

function answers({ report }: Shown, found: (text: string) => boolean): Section {
  const leaks = report.data.leaks as { findings: Finding[] } | null | undefined,
    oom = report.data.oom as { remedies: { title: string; takes: string; gives: string }[] } | null | undefined;
  const hits: Hit[] = [];
  for (const finding of leaks?.findings ?? [])
    if ([finding.title, finding.held_by, finding.look_at].some(found))
      hits.push({ size: finding.bytes, what: link("leaks", {}, finding.title), note: `held by ${finding.held_by}` });
  for (const remedy of oom?.remedies ?? [])
    if ([remedy.title, remedy.takes].some(found))
      hits.push({ size: null, what: link("oom", {}, remedy.title), note: remedy.gives });
  return { title: counted(hits.length, "finding"), hits };
}

function nodes({ dump }: Shown, found: (text: string) => boolean): Section {
  const graph = dump.data.graph as Graph | null | undefined,
    sums = new Map<string, number>();
  if (graph)
    for (let i = 0; i < graph.name.length; i++) {
      const name = dump.text(graph.name[i]);
      if (found(name)) sums.set(name, (sums.get(name) ?? 0) + 1);
    }
  return {
    title: `${counted(sums.size, "class")}${sums.size === 1 ? "" : "es"} of graph nodes`.replace("classs", "class"),
    hits: [...sums].map(([name, number]) => ({
      size: null,
      what: link("graph", {}, name),
      note: counted(number, "node"),
    })),
  };
}

function recorded({ report }: Shown, found: (text: string) => boolean): Section[] {
  const values = report.data.values as { names: { name: string; values: number }[] } | null | undefined,
    calls = report.data.calls as { tree: CallNode[] }[] | null | undefined;
  const named = [
    ...new Map((values?.names ?? []).filter((each) => found(each.name)).map((each) => [each.name, each.values])),
  ];
  const called: Hit[] = [],
    walk = (calls ?? []).flatMap((file) => file.tree);
  for (let node = walk.pop(); node; node = walk.pop()) {
    walk.push(...node.children);
    if (found(node.label) || found(node.path) || found(node.class ?? ""))
      called.push({ size: null, what: link("calls", {}, node.path || node.label), note: counted(node.count, "call") });
  }
  return [
    {
      title: `${counted(named.length, "name")} with values`,
      hits: named.map(([name, number]) => ({
        size: null,
        what: link("values", { name }, name),
        note: counted(number, "value"),
      })),
    },
    { title: counted(called.length, "call"), hits: called },
  ];
}

export function searchPage(place: HTMLElement, shown: Shown): void {
  const q = shown.params.get("q") ?? "",
    wanted = q.toLowerCase(),
    found = (text: string) => text.toLowerCase().includes(wanted);
  place.append(h("h2", {}, `Search: ${q}`));
  if (wanted === "") {
    place.append(h("p", {}, "Type a name, a file, a module, a class or #number into the search box."));
    return;
  }
  const sections: Section[] = [
    {
      title: "Pages",
      hits: shown.pages
        .filter((page) => found(page.title))
        .map((page) => ({ size: null, what: link(page.id, {}, page.title), note: "" })),
    },
  ];
  if (shown.dump)
    sections.push(
      answers(shown, found),
      tensorHits(shown, q),
      groupHits(shown, "site", "allocation site", found),
      groupHits(shown, "module", "module", found),
      groupHits(shown, "holder", "holder", found),
      nodes(shown, found),
    );
  sections.push(recordingHits(shown, found), ...recorded(shown, found));
  const hits = sections.filter((section) => section.hits.length > 0);
  say(hits.length === 0 ? "nothing found" : hits.map((section) => section.title).join(", "));
  if (hits.length === 0)
    place.append(
      h("p", { id: "nothing" }, `Nothing found${shown.dump ? ` in ${shown.dump.data.path} and the other pages` : ""}.`),
    );
  else place.append(h("p", { className: "lead" }, hits.map((section) => section.title).join(", ")));
  for (const { title, hits: rows, all } of hits) {
    place.append(
      h("h3", {}, title),
      all ?? "",
      rows.length > MOST ? h("p", { className: "note" }, `showing ${MOST} of ${count(rows.length)}`) : "",
      plainTable(
        ["bytes", "what", ""],
        rows
          .slice(0, MOST)
          .map((hit) => [hit.size === null ? "" : amount(hit.size, bytes(hit.size)), hit.what, hit.note]),
        [0],
      ),
    );
  }
}
