# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's memory viewer (torch/utils/viz/MemoryViz.js, which is in no wheel) without a browser: its drawing library is
replaced by an object that swallows everything, what it computes is real.

TENSORSCOPE_MEMORY_VIZ names a folder with MemoryViz.js and, where it is of a version that has it, process_alloc_data.js; the
JavaScript engine is the package quickjs."""
import json
import os
import pathlib
import re

FOLDER = os.environ.get("TENSORSCOPE_MEMORY_VIZ", "")

PRELUDE = """
let swallow;
swallow = new Proxy(function () {}, {
  get: (target, key) => key === Symbol.toPrimitive ? () => 1 : key === 'length' ? 0
    : key === Symbol.iterator ? function* () {} : swallow,
  apply: () => swallow, construct: () => swallow, set: () => true});
const d3 = swallow, axisLeft = swallow, scaleLinear = swallow, zoom = swallow, zoomIdentity = swallow, brushX = swallow,
  window = swallow, document = swallow, console = swallow;
class TextDecoder {
  decode(bytes) { return decodeURIComponent(Array.from(bytes, byte => '%' + byte.toString(16).padStart(2, '0')).join('')); }
}
Array.prototype.at ??= function (index) { return this[index < 0 ? this.length + index : index]; };
Array.prototype.findLastIndex ??= function (test) {
  for (let i = this.length - 1; i >= 0; i--) if (test(this[i])) return i;
  return -1;
};
"""

QUESTIONS = """
let snapshot;
function load(hex) {
  const bytes = new Uint8Array(hex.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = parseInt(hex.substr(2 * i, 2), 16);
  snapshot = unpickle(bytes.buffer);
  return JSON.stringify(snapshot);
}
function annotate() { annotate_snapshot(snapshot); return JSON.stringify(snapshot.categories); }
function timeline(device, segments) {
  const data = process_alloc_data(snapshot, device, segments, 15000);
  const about = [];
  for (let i = 0; i < data.elements_length; i++) about.push(data.context_for_id(i));
  return JSON.stringify({elements: data.elements_length, at: data.max_at_time, about});
}
function history(device) {
  const view = MemoryView(swallow, {register() {}}, snapshot, device);
  return JSON.stringify(snapshot.device_traces[device].map(event => [formatEvent(event), ...view.draw(event.idx)]));
}
"""


class Viewer:
    """A file dropped on the page."""

    def __init__(self, content):
        import quickjs
        scripts = [pathlib.Path(FOLDER) / name for name in ("process_alloc_data.js", "MemoryViz.js")]
        source = "".join(path.read_text() for path in scripts if path.exists())
        source = re.sub(r"^import [^;]*;|^export \{[^}]*\};?|^export |^'use strict';", "", source, flags=re.MULTILINE)
        self.context = quickjs.Context()
        self.context.eval(PRELUDE + source + QUESTIONS)
        self.unpickled = json.loads(self.context.get("load")(content.hex()))
        self.categories = json.loads(self.context.get("annotate")())

    def timeline(self, device, segments=False):
        """'Active Memory Timeline', or that of segments: bytes after each step, and the text of each allocation."""
        return json.loads(self.context.get("timeline")(device, segments))

    def history(self, device):
        """'Allocator State History': each event's text, and the bytes reserved and allocated after it."""
        return json.loads(self.context.get("history")(device))
