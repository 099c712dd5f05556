// SPDX-License-Identifier: Apache-2.0
// Numbers as the command line writes them (analyzer/text/units.cc; tests/integration/test_numbers.py holds both to the
// same examples). They are formatted here because most of them are sums of what one has chosen in the page.
const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

// To the nearest; of two as near, the even one.
function rounded(value: number): number {
  const low = Math.floor(value),
    rest = value - low;
  return rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low;
}

export function bytes(value: number): string {
  if (value < 1024) return `${Math.round(value)} B`;
  let unit = 0,
    scaled = value / 1024;
  while (unit + 1 < UNITS.length && scaled >= 1023.95) {
    scaled /= 1024;
    unit++;
  }
  const digits = unit < 2 ? 1 : 2;
  return `${(rounded(scaled * 10 ** digits) / 10 ** digits).toFixed(digits)} ${UNITS[unit]}`;
}

export const signedBytes = (value: number) => (value === 0 ? "0 B" : (value > 0 ? "+" : "-") + bytes(Math.abs(value)));
export const count = (value: number) =>
  Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
export const signedCount = (value: number) => (value > 0 ? "+" : value < 0 ? "-" : "") + count(Math.abs(value));
export const counted = (value: number, noun: string) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

export function percent(part: number, whole: number): string {
  if (whole <= 0) return "";
  if (part !== 0 && part * 200 <= whole) return "<1 %";
  return `${rounded((100 * part) / whole)} %`;
}

// Cut, not rounded, as the command line's durations are.
export function age(seconds: number): string {
  if (seconds < 0) return "";
  const microseconds = Math.floor(Math.round(seconds * 1e9) / 1000);
  if (microseconds < 1000) return `${microseconds} us`;
  if (microseconds < 1e6) return `${Math.floor(microseconds / 1000)} ms`;
  if (microseconds < 60e6) return `${(Math.floor(microseconds / 1e5) / 10).toFixed(1)} s`;
  const whole = Math.floor(microseconds / 1e6),
    minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}m${String(whole % 60).padStart(2, "0")}s`;
  const hours = Math.floor(minutes / 60);
  return hours < 24
    ? `${hours}h${String(minutes % 60).padStart(2, "0")}m`
    : `${Math.floor(hours / 24)}d${String(hours % 24).padStart(2, "0")}h`;
}

// "10M", "1.5 GiB" -> bytes; "10MB" is of powers of 1000, as in the command line's options. NaN: no size.
export function parseSize(text: string): number {
  const found = /^\s*(\d+(?:\.\d+)?)\s*(?:b|([kmgtp])(i?b?))?\s*$/i.exec(text);
  if (!found) return NaN;
  const power = found[2] ? 1 + "kmgtp".indexOf(found[2].toLowerCase()) : 0;
  return Number(found[1]) * ((found[3] ?? "").toLowerCase() === "b" ? 1000 : 1024) ** power;
}

// A moment or a span of a recording: finer than age().
export function duration(seconds: number): string {
  if (seconds < 1e-3) return `${Math.round(seconds * 1e6)} us`;
  if (seconds < 1) return `${(seconds * 1e3).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
  if (seconds < 60) return `${seconds.toFixed(2)} s`;
  const minutes = Math.floor(seconds / 60),
    rest = (seconds - 60 * minutes).toFixed(1).padStart(4, "0");
  return minutes < 60
    ? `${minutes}m${rest}s`
    : `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, "0")}m${rest}s`;
}
