// SPDX-License-Identifier: Apache-2.0
// What, how much, who, what to do: the sentences of the command line.
import { leaksAnswer, oomAnswer, type Leaks, type Oom } from "./answers";
import { amount, h, plainTable } from "./dom";
import { bytes, count, percent } from "./format";
import { historySection } from "./history";
import { link, type Shown } from "./router";
import { groups } from "./tensors";

const all = (n: number) => Uint32Array.from({ length: n }, (_, i) => i);

export function overviewPage(place: HTMLElement, { dump, report }: Shown): void {
  const d = dump.data;
  const oom = report.data.oom as Oom | null | undefined,
    leaks = report.data.leaks as Leaks | null | undefined;
  place.append(
    h("h2", {}, d.process.program),
    ...(oom ? [...oomAnswer(oom), h("h3", {}, "What was live")] : []),
    h("p", { className: "lead" }, d.answer),
    h("p", {}, d.headline),
    d.outside ? h("p", {}, d.outside) : "",
  );
  const unread = report.data.not_read ? [report.data.not_read.note] : [];
  for (const problem of [...unread, ...d.problems])
    place.append(h("p", { className: "problem", role: "note" }, problem));
  if (leaks) place.append(...leaksAnswer(leaks));
  for (const [i, { data }] of report.recordings.entries()) {
    place.append(
      h("h3", {}, "Over time"),
      h(
        "p",
        {},
        data.text.split("\n", 1)[0] + " ",
        link(
          "timeline",
          { rec: i === 0 ? "" : String(i), from: "", to: "" },
          report.recordings.length > 1 ? `timeline of ${data.path.split("/").pop()}` : "timeline",
        ),
      ),
    );
  }
  // A recording has it in full.
  if (d.history && report.recordings.length === 0) place.append(...historySection(d.history));
  const total = d.total_bytes;
  const categories = groups(dump, "category", all(dump.tensorCount)).filter((group) => group.bytes > 0);
  place.append(
    h("h3", {}, "What it is for"),
    h(
      "div",
      { className: "bars" },
      categories.map((group) =>
        h(
          "a",
          { className: "bar-row", href: link("tensors", { category: group.key }, "").href },
          h("span", { className: "bar-name" }, group.key),
          h(
            "span",
            { className: "bar-line" },
            h("span", { className: "bar", style: { width: `${(100 * group.bytes) / Math.max(1, total)}%` } }),
          ),
          h("span", { className: "bar-size" }, `${bytes(group.bytes)}  ${percent(group.bytes, total)}`),
        ),
      ),
    ),
  );
  const rows = d.sites
    .slice(0, 50)
    .map((site) => [
      amount(site.bytes, bytes(site.bytes)),
      site.share,
      count(site.tensors + site.blocks),
      h(
        "div",
        {},
        link("tensors", { in: "site", is: site.where }, site.where),
        site.source ? h("code", {}, site.source) : "",
        site.held_by ? h("div", { className: "note" }, site.held_by) : "",
        site.modules ? h("div", { className: "note" }, `in ${site.modules}`) : "",
      ),
    ]);
  place.append(
    h("h3", {}, "Largest allocation sites"),
    h("p", { className: "note" }, d.site_count > rows.length ? `showing ${rows.length} of ${count(d.site_count)}` : ""),
    plainTable(["bytes", "%", "count", "where"], rows, [0, 1, 2]),
  );
  const live = d.live.map(([name, ...cells]) => [
    h("span", { style: { "padding-left": `${(name.length - name.trimStart().length) / 2}rem` } }, name.trim()),
    ...cells,
  ]);
  place.append(
    h("h3", {}, "Live memory"),
    h(
      "div",
      { className: "wide-table", tabindex: 0, role: "region", "aria-label": "table" },
      plainTable(["", "tensors", "storages", "bytes", "share, remark"], live, [1, 2, 3]),
    ),
  );
  place.append(
    h("h3", {}, "What was recorded"),
    h("p", {}, d.versions + " " + d.seen),
    h(
      "p",
      { className: "note" },
      `${d.path}; written ${new Date(d.process.dump_unix_ms).toISOString().replace("T", " ").slice(0, 19)} ` +
        `UTC; tensorscope ${report.data.version}`,
    ),
    d.process.command_line.length > 0
      ? h("p", { className: "note" }, "command: ", h("code", {}, d.process.command_line.join(" ")))
      : "",
    report.data.confidential
      ? h(
          "p",
          { className: "note" },
          "This page leaves out source lines, host, user, command line, settings and folders (--confidential).",
        )
      : "",
    h(
      "details",
      {},
      h("summary", {}, "licences of what is in this page"),
      h("pre", {}, document.getElementById("licences")!.textContent),
    ),
  );
}
