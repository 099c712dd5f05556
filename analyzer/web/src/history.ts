// SPDX-License-Identifier: Apache-2.0
// Live bytes over the run as a dump itself has them (analyzer/html/history_data.h), in the chart of a recording.
import { areaChart, type Mark } from "./area";
import type { Column } from "./data";
import { h } from "./dom";
import { bytes, count, duration } from "./format";

export interface DeviceHistory {
  device: string;
  live: Column;
  peak: Column;
  most: number;
}
export interface History {
  text: string;
  time: Column;
  step: Column; // 0: no step ended there
  devices: DeviceHistory[];
}

const PARTS = 300;

// The chart's parts are of one length, the points are not: of each part the point that it lies in. A point stands for
// the time since the one before.
export function pointsOfParts(time: Column, parts: number): number[] {
  const begin = time[0],
    length = (time[time.length - 1] - begin) / parts,
    out: number[] = [];
  for (let part = 0, point = 0; part < parts; part++) {
    const middle = begin + (part + 0.5) * length;
    while (point < time.length - 1 && time[point] < middle) point++;
    out.push(point);
  }
  return out;
}

// Lines where steps ended; where points are many, some of them.
function stepMarks(history: History): Mark[] {
  const most = 12,
    ends = Array.from(history.time, (at, i) => ({ at, step: history.step[i] })).filter((end) => end.step > 0),
    every = Math.max(1, Math.ceil(ends.length / most));
  return ends
    .filter((_, i) => i % every === 0)
    .map(({ at, step }) => ({ at, name: `step ${count(step)}`, kind: "step" }));
}

function deviceCurve(history: History, { device, live, peak }: DeviceHistory): HTMLElement {
  const parts = pointsOfParts(history.time, PARTS);
  return areaChart({
    about: `Live bytes of ${device} over the run`,
    height: 160,
    begin: history.time[0],
    end: history.time[history.time.length - 1],
    layers: [
      { name: "at the end of a step", fill: "var(--bar)", values: parts.map((i) => live[i]) },
      { name: "at most", fill: "var(--line)", values: parts.map((i) => Math.max(0, peak[i] - live[i])) },
    ],
    line: null,
    marks: stepMarks(history),
    chosen: null,
    axes: true,
    describe: (part) => {
      const i = parts[part],
        step = history.step[i];
      const when = duration(history.time[i]) + (step > 0 ? `, end of step ${count(step)}` : "");
      return `${when}: ${bytes(live[i])} live, at most ${bytes(peak[i])}`;
    },
    choose: null,
    reset: () => undefined,
  });
}

export function historySection(history: History): HTMLElement[] {
  return [
    h("h3", {}, "Over the run"),
    history.text ? h("p", {}, history.text) : "",
    ...history.devices.flatMap((each) => [
      history.devices.length > 1 ? h("h4", {}, each.device) : "",
      deviceCurve(history, each),
    ]),
  ].filter((each): each is HTMLElement => each !== "");
}
