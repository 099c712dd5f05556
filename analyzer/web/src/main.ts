// SPDX-License-Identifier: Apache-2.0
// The page: reads its data, and shows what the address names (router.ts).
import { h } from "./dom";
import { readData, Report } from "./data";
import { diffPage, leaksPage, oomPage } from "./answers";
import { flamePage } from "./flame";
import { graphPage, type Graph } from "./graph";
import { mapPage } from "./map";
import { overviewPage } from "./overview";
import { address, go, parse, type PageTitle, type Shown } from "./router";
import { tensorPage } from "./tensor";
import { tensorsPage } from "./tensors";
import { searchPage } from "./search";
import { timelinePage } from "./timeline";
import { callsPage, valuesPage } from "./values";

interface PageKind extends PageTitle {
  there: (report: Report) => boolean;
  draw: (place: HTMLElement, shown: Shown) => void;
  hidden?: boolean;
}

const hasDump = (report: Report) => report.dumps.length > 0;
const part = (name: string) => (all: Report) => all.data[name] !== null && all.data[name] !== undefined;
// A part that is built elsewhere is one line here, and its data a field of the page's.
const PAGES: PageKind[] = [
  { id: "overview", title: "Overview", there: hasDump, draw: overviewPage },
  { id: "timeline", title: "Timeline", there: (report) => report.recordings.length > 0, draw: timelinePage },
  { id: "oom", title: "Out of memory", there: part("oom"), draw: oomPage },
  { id: "leaks", title: "Leaks", there: part("leaks"), draw: leaksPage },
  { id: "diff", title: "Diff", there: part("diff"), draw: diffPage },
  { id: "map", title: "Map", there: hasDump, draw: mapPage },
  {
    id: "flame",
    title: "Flame",
    there: (report) => hasDump(report) || report.recordings.some((each) => each.data.devices.length > 0),
    draw: flamePage,
  },
  { id: "tensors", title: "Tensors", there: hasDump, draw: tensorsPage },
  {
    id: "graph",
    title: "Graph",
    there: (all) => all.dumps.some((dump) => ((dump.data.graph as Graph | null)?.name.length ?? 0) > 0),
    draw: graphPage,
  },
  { id: "values", title: "Values", there: part("values"), draw: valuesPage },
  { id: "calls", title: "Calls", there: part("calls"), draw: callsPage },
  { id: "search", title: "Search", there: () => true, draw: searchPage, hidden: true },
  { id: "tensor", title: "Tensor", there: hasDump, draw: tensorPage, hidden: true },
];

let report: Report;

const pagesOf = (all: Report) => PAGES.filter((kind) => kind.there(all) && !kind.hidden);

function show(): void {
  const pages = PAGES.filter((kind) => kind.there(report));
  const { page, params } = parse(location.hash);
  const kind = pages.find((each) => each.id === page) ?? pages[0];
  const dump = report.dumps[Number(params.get("dump") ?? -1)] ?? report.first;
  const place = h("div", { className: `page ${kind.id}` });
  document
    .getElementById("pages")!
    .replaceChildren(
      ...pages
        .filter((each) => !each.hidden)
        .map((each) =>
          h("a", { href: address(each.id, {}), "aria-current": each.id === kind.id ? "page" : null }, each.title),
        ),
    );
  const choice = document.getElementById("dump-choice")!;
  choice.replaceChildren();
  if (report.dumps.length > 1) {
    choice.append(
      h(
        "select",
        {
          "aria-label": "dump",
          onchange: (event: Event) =>
            go(kind.id, { ...Object.fromEntries(params), dump: (event.target as HTMLSelectElement).value }),
        },
        report.dumps.map((each, i) =>
          h("option", { value: i, selected: each === dump, title: each.data.path }, each.data.path.split("/").pop()),
        ),
      ),
    );
  }
  document.documentElement.dataset.page = kind.id;
  document.getElementById("main")!.replaceChildren(place);
  kind.draw(place, { report, dump, params, pages: pagesOf(report) });
  document.title =
    `${kind.title} - ` +
    `${dump?.data.process.program ?? report.recordings[0]?.data.program ?? "values"} - tensorscope`;
}

function keys(event: KeyboardEvent): void {
  const typing = event.target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey || typing) return;
  const digit = Number(event.key);
  const pages = pagesOf(report);
  if (event.key === "/") document.querySelector<HTMLInputElement>("#search input")!.focus();
  else if (digit >= 1 && digit <= pages.length) go(pages[digit - 1].id, {});
  else return;
  event.preventDefault();
}

function theme(): void {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  show();
}

async function start(): Promise<void> {
  const source = document.getElementById("data")!;
  report = new Report(await readData(source.textContent ?? ""));
  source.remove();
  addEventListener("hashchange", show);
  addEventListener("keydown", keys);
  document.getElementById("theme")!.addEventListener("click", theme);
  document.getElementById("search")!.addEventListener("submit", (event) => {
    event.preventDefault();
    go("search", { q: document.querySelector<HTMLInputElement>("#search input")!.value });
  });
  show();
  document.documentElement.dataset.ready = "1";
}

start().catch((error: unknown) => {
  const old = typeof DecompressionStream === "undefined";
  document
    .getElementById("main")!
    .replaceChildren(
      h(
        "p",
        { className: "problem" },
        old
          ? "This browser cannot read the page: it needs Chrome 80, Firefox 113, Safari 16.4 or newer."
          : `The data of this page cannot be read: ${String(error)}`,
      ),
    );
});
