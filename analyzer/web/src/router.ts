// SPDX-License-Identifier: Apache-2.0
// Where a reader is: the page and its state stand behind the # of the address, so that Back works and a link can be
// sent.
import { h } from "./dom";
import type { Dump, Report } from "./data";

export type Params = Map<string, string>;
// A page as others name it.
export interface PageTitle {
  id: string;
  title: string;
}
// What a page draws: its parameters, the dump that is chosen, and which pages there are.
export interface Shown {
  report: Report;
  dump: Dump;
  params: Params;
  pages: PageTitle[];
}

export function parse(hash: string): { page: string; params: Params } {
  const [page, query] = hash.replace(/^#/, "").split("?", 2);
  return { page, params: new Map(new URLSearchParams(query ?? "")) };
}

// These go along to other pages: the dump, and the recording with its range.
const KEPT = ["dump", "rec", "on", "from", "to"];

export function address(page: string, values: Record<string, string>): string {
  const now = parse(location.hash).params;
  const query = new URLSearchParams();
  for (const key of KEPT) if (now.has(key) && !(key in values)) query.set(key, now.get(key)!);
  for (const [key, value] of Object.entries(values)) if (value !== "") query.set(key, value);
  const text = query.toString();
  return `#${page}${text ? `?${text}` : ""}`;
}

export function go(page: string, values: Record<string, string>): void {
  location.hash = address(page, values);
}
export function link(page: string, values: Record<string, string>, text: string): HTMLAnchorElement {
  return h("a", { href: address(page, values) }, text);
}
