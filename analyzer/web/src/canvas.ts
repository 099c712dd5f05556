// SPDX-License-Identifier: Apache-2.0
// Boxes on a canvas, with a text list of the same for who cannot see it: treemap, flame graph, segments.
import { h, say } from "./dom";

export interface Box<T> {
  x: number;
  y: number;
  w: number;
  h: number;
  fill: string;
  label: string;
  ink?: string;
  data: T;
}

// Okabe and Ito's colours, which the colour-blind can tell apart; text on them is black.
export const COLOURS = [
  "#56b4e9",
  "#e69f00",
  "#009e73",
  "#f0e442",
  "#d55e00",
  "#cc79a7",
  "#8fa8c8",
  "#b8b8b8",
  "#7fc7a4",
  "#e8b98a",
];
export function colourOf(text: string): string {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return COLOURS[(hash >>> 0) % COLOURS.length];
}
export const CATEGORY_COLOURS: Record<string, string> = {
  parameter: "#56b4e9",
  gradient: "#e69f00",
  "optimizer state": "#009e73",
  "saved activation": "#d55e00",
  "input batch": "#f0e442",
  buffer: "#8fa8c8",
  cache: "#cc79a7",
  "KV cache": "#b0508c",
  dataset: "#c7b42c",
  container: "#7fc7a4",
  variable: "#e8b98a",
  "communication bucket": "#6f7fd0",
  "backward temporary": "#a98fd0",
  temporary: "#b8b8b8",
  workspace: "#9a9a9a",
  unknown: "#d0d0d0",
};

export class Boxes<T> {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly tip: HTMLElement;
  private boxes: Box<T>[] = [];
  private focus = -1;
  private width = 0;

  constructor(
    about: string,
    private readonly layout: (width: number) => { boxes: Box<T>[]; height: number },
    private readonly describe: (data: T) => string,
    private readonly open: (data: T) => void,
  ) {
    this.canvas = h("canvas", {
      tabindex: 0,
      role: "application",
      "aria-label": `${about}; arrow keys go through the boxes, Enter opens`,
    });
    this.tip = h("div", { className: "tip", role: "status" });
    this.element = h("div", { className: "boxes" }, this.canvas, this.tip);
    this.canvas.addEventListener("mousemove", (event) => this.point(event));
    this.canvas.addEventListener("mouseleave", () => {
      this.focus = -1;
      this.paint();
    });
    this.canvas.addEventListener("click", (event) => {
      this.point(event);
      if (this.focus >= 0) this.open(this.boxes[this.focus].data);
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => {
      if (this.element.clientWidth !== this.width) this.draw();
    }).observe(this.element);
  }

  draw(): void {
    this.width = this.element.clientWidth;
    if (this.width === 0) return;
    const { boxes, height } = this.layout(this.width),
      scale = devicePixelRatio || 1;
    this.boxes = boxes;
    this.focus = -1;
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.setProperty("width", `${this.width}px`);
    this.canvas.style.setProperty("height", `${height}px`);
    this.paint();
  }

  private paint(): void {
    const pen = this.canvas.getContext("2d")!,
      scale = devicePixelRatio || 1;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const edge = getComputedStyle(document.documentElement).getPropertyValue("--back");
    for (const box of this.boxes) {
      pen.fillStyle = box.fill;
      pen.fillRect(box.x, box.y, box.w, box.h);
      if (box.w > 3 && box.h > 3) {
        pen.strokeStyle = edge;
        pen.lineWidth = 1;
        pen.strokeRect(box.x + 0.5, box.y + 0.5, box.w - 1, box.h - 1);
      }
      if (box.w > 28 && box.h > 11 && box.label !== "") {
        pen.fillStyle = box.ink ?? "#000";
        const room = Math.floor((box.w - 8) / 6.4);
        pen.save();
        pen.beginPath();
        pen.rect(box.x, box.y, box.w - 3, box.h);
        pen.clip();
        pen.fillText(
          box.label.length > room + 3 ? box.label.slice(0, Math.max(1, room)) + "…" : box.label,
          box.x + 4,
          box.y + Math.min(box.h / 2, 10),
        );
        pen.restore();
      }
    }
    const box = this.boxes[this.focus];
    this.tip.textContent = box ? this.describe(box.data) : " ";
    if (!box) return;
    pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--focus");
    pen.lineWidth = 3;
    pen.strokeRect(box.x + 1.5, box.y + 1.5, Math.max(1, box.w - 3), Math.max(1, box.h - 3));
  }

  private point(event: MouseEvent): void {
    const area = this.canvas.getBoundingClientRect(),
      x = event.clientX - area.left,
      y = event.clientY - area.top;
    let found = -1;
    // Later boxes lie on earlier ones.
    for (let i = this.boxes.length - 1; i >= 0 && found < 0; i--) {
      const box = this.boxes[i];
      if (x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h) found = i;
    }
    if (found === this.focus) return;
    this.focus = found;
    this.paint();
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Enter" && this.focus >= 0) this.open(this.boxes[this.focus].data);
    else if (event.key === "ArrowRight" || event.key === "ArrowDown")
      this.focus = Math.min(this.boxes.length - 1, this.focus + 1);
    else if (event.key === "ArrowLeft" || event.key === "ArrowUp") this.focus = Math.max(0, this.focus - 1);
    else return;
    event.preventDefault();
    if (event.key === "Enter") return;
    this.paint();
    if (this.boxes[this.focus]) say(this.describe(this.boxes[this.focus].data));
  }
}
