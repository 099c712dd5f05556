// SPDX-License-Identifier: Apache-2.0
// A table of any number of rows: only those in sight are in the document. Rows are numbers; columns make texts of them.
import { h, say } from "./dom";
import { count, counted } from "./format";

export interface TableColumn {
  title: string;
  text: (row: number) => string;
  width: string; // of CSS grid: "8rem", "minmax(6rem, 1fr)"
  number?: boolean; // right-aligned
  sort?: (a: number, b: number) => number; // ascending
  swatch?: (row: number) => string; // a colour before the text
  phone?: string; // its width where there is little room; else it is not shown there
}

const ROW = 26; // pixels
const HIGHEST = 8_000_000; // pixels that every browser can scroll; above it, scrolling is scaled
const SPARE = 6;
const MOST_PRINTED = 5000;

export class Table {
  readonly element: HTMLElement;
  private rows: ArrayLike<number> = [];
  private focus = 0;
  private first = 0; // row at the top
  private readonly view: HTMLElement;
  private readonly filler: HTMLElement;
  private readonly body: HTMLElement;
  private readonly head: HTMLElement;
  private readonly heads: HTMLElement[];

  constructor(
    private readonly columns: TableColumn[],
    about: string,
    private readonly open: (row: number) => void,
    private readonly sortBy: (column: number) => void,
  ) {
    this.heads = columns.map((column, i) =>
      h(
        "div",
        { role: "columnheader", className: cellClass(column), "aria-sort": "none" },
        column.sort ? h("button", { type: "button", onclick: () => this.sortBy(i) }, column.title) : column.title,
      ),
    );
    this.head = h("div", { role: "row", className: "row head", "aria-rowindex": 1 }, this.heads);
    this.filler = h("div", { className: "filler" });
    this.body = h("div", { className: "body", role: "presentation" });
    this.view = h(
      "div",
      { className: "view", tabindex: 0, role: "rowgroup", "aria-label": about },
      this.filler,
      this.body,
    );
    this.element = h(
      "div",
      { className: "grid", role: "grid", "aria-label": about, "aria-colcount": columns.length },
      h("div", { role: "rowgroup" }, this.head),
      this.view,
    );
    this.element.style.setProperty("--columns", columns.map((column) => column.width).join(" "));
    this.element.style.setProperty(
      "--phone-columns",
      columns
        .filter((column) => column.phone)
        .map((column) => column.phone)
        .join(" "),
    );
    this.view.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.view.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.view);
    // On paper are all rows, up to a limit.
    const note = h("p", { className: "printed" });
    this.element.append(note);
    const before = () => {
      if (!this.element.isConnected) return leave();
      note.textContent =
        this.rows.length > MOST_PRINTED
          ? `the first ${count(MOST_PRINTED)} of ${counted(this.rows.length, "row")}; save as CSV has them all`
          : "";
      this.draw(true);
    };
    const after = () => this.draw();
    const leave = () => {
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
    };
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
  }

  show(rows: ArrayLike<number>, sorted: number, descending: boolean): void {
    this.rows = rows;
    this.heads.forEach((head, i) =>
      head.setAttribute("aria-sort", i !== sorted ? "none" : descending ? "descending" : "ascending"),
    );
    this.element.setAttribute("aria-rowcount", String(rows.length + 1));
    this.filler.style.setProperty("height", `${Math.min(rows.length * ROW, HIGHEST)}px`);
    this.focus = Math.min(this.focus, Math.max(0, rows.length - 1));
    this.first = 0;
    this.view.scrollTop = 0;
    this.draw();
  }

  private get capacity(): number {
    return Math.max(1, Math.floor(this.view.clientHeight / ROW));
  }
  private get lastFirst(): number {
    return Math.max(0, this.rows.length - this.capacity);
  }
  private get scaled(): boolean {
    return this.rows.length * ROW > HIGHEST;
  }

  private scrolled(): void {
    const range = this.view.scrollHeight - this.view.clientHeight;
    if (range <= 0) return;
    this.first = this.scaled
      ? Math.round((this.view.scrollTop / range) * this.lastFirst)
      : Math.floor(this.view.scrollTop / ROW);
    this.draw();
  }

  private goTo(row: number): void {
    this.focus = Math.max(0, Math.min(this.rows.length - 1, row));
    let first = this.first;
    if (this.focus < first) first = this.focus;
    if (this.focus >= first + this.capacity) first = this.focus - this.capacity + 1;
    this.first = Math.min(first, this.lastFirst);
    const range = this.view.scrollHeight - this.view.clientHeight;
    this.view.scrollTop = this.scaled ? (this.first / Math.max(1, this.lastFirst)) * range : this.first * ROW;
    this.draw();
    if (this.rows.length > 0)
      say(this.columns.map((column) => `${column.title} ${column.text(this.rows[this.focus])}`).join(", "));
  }

  private key(event: KeyboardEvent): void {
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: this.capacity,
      PageUp: -this.capacity,
      Home: -Infinity,
      End: Infinity,
    };
    if (event.key in steps) this.goTo(this.focus + steps[event.key]);
    else if (event.key === "Enter" && this.rows.length > 0) this.open(this.rows[this.focus]);
    else return;
    event.preventDefault();
  }

  private draw(whole = false): void {
    const begin = whole ? 0 : this.scaled ? this.first : Math.max(0, this.first - SPARE);
    const end = Math.min(this.rows.length, whole ? MOST_PRINTED : this.first + this.capacity + SPARE);
    const top = this.scaled ? this.view.scrollTop : begin * ROW;
    this.body.style.setProperty("transform", `translateY(${top}px)`);
    const shown: HTMLElement[] = [];
    for (let i = begin; i < end; i++) {
      const row = this.rows[i];
      shown.push(
        h(
          "div",
          {
            role: "row",
            className: i === this.focus ? "row focus" : "row",
            "aria-rowindex": i + 2,
            onclick: () => {
              this.focus = i;
              this.open(row);
            },
          },
          this.columns.map((column) => {
            const text = column.text(row);
            return h(
              "div",
              { role: "gridcell", className: cellClass(column), title: text.length > 24 ? text.slice(0, 500) : null },
              column.swatch && h("i", { className: "swatch", style: { background: column.swatch(row) } }),
              text.length > 400 ? text.slice(0, 400) + "..." : text,
            );
          }),
        ),
      );
    }
    this.body.replaceChildren(...shown);
    this.head.style.setProperty("padding-right", `calc(.5rem + ${this.view.offsetWidth - this.view.clientWidth}px)`);
  }
}

function cellClass(column: TableColumn): string {
  return (column.number ? "cell number" : "cell") + (column.phone ? "" : " wide");
}
