// SPDX-License-Identifier: Apache-2.0
// Elements from code: texts become text nodes, nothing is ever parsed as markup.
type Child = Node | string | number | null | undefined | false | Child[];
type Props = Record<string, unknown>;

const SVG = () => document.getElementById("svg")!.namespaceURI!;

function fill(element: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) fill(element, child);
    else element.append(child instanceof Node ? child : String(child));
  }
}

function set(element: Element & { style: CSSStyleDeclaration }, props: Props): void {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (name === "style")
      for (const [key, text] of Object.entries(value as Props)) element.style.setProperty(key, String(text));
    else element.setAttribute(name === "className" ? "class" : name, value === true ? "" : String(value));
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  set(element, props);
  fill(element, children);
  return element;
}

export function s(tag: string, props: Props = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS(SVG(), tag) as SVGElement;
  set(element, props);
  fill(element, children);
  return element;
}

export function say(text: string): void {
  document.getElementById("live")!.textContent = text;
}

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages from disk may not use the clipboard's interface in every browser.
    const area = h("textarea", { className: "hidden" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say("copied");
}

export function save(name: string, text: string): void {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// RFC 4180; a field that a spreadsheet would take for a formula begins with an apostrophe.
export function csv(rows: (string | number)[][]): string {
  const field = (value: string | number) => {
    let text = String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
}

export function button(text: string, onclick: () => void, props: Props = {}): HTMLButtonElement {
  return h("button", { type: "button", onclick, ...props }, text);
}

// A number with its text: tables are saved with the number.
export const amount = (value: number, text: string) => h("data", { value }, text);

function cellText(cell: HTMLElement): string {
  const only = cell.childNodes.length === 1 ? cell.firstChild : null;
  return only instanceof HTMLDataElement ? only.value : cell.innerText.replace(/\s+/g, " ").trim();
}

// `rows`: a heading, then all of the table.
export function saveTools(name: string, rows: () => (string | number)[][]): HTMLElement {
  return h(
    "div",
    { className: "tools" },
    button("save as CSV", () => save(`${name}.csv`, csv(rows()))),
    button(
      "copy as text",
      () =>
        void copy(
          rows()
            .map((row) => row.join("\t"))
            .join("\n"),
        ),
    ),
  );
}

// A table of texts with its captions as headings; `numbers`: columns that are right-aligned.
export function plainTable(titles: string[], rows: Child[][], numbers: number[] = []): HTMLElement {
  const align = (i: number) => (numbers.includes(i) ? { className: "number" } : {});
  const table = h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        titles.map((title, i) => h("th", { scope: "col", ...align(i) }, title)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((row) =>
        h(
          "tr",
          {},
          row.map((cell, i) => h("td", align(i), cell)),
        ),
      ),
    ),
  );
  return h(
    "div",
    { className: "plain" },
    table,
    rows.length > 0 &&
      saveTools(document.documentElement.dataset.page ?? "table", () =>
        Array.from(table.rows, (row) => Array.from(row.cells, cellText)),
      ),
  );
}
