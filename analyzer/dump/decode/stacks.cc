// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/stacks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dump/decode/flatbuffer_texts.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

std::string hex(const flatbuffers::Vector<uint8_t>* bytes) {
  constexpr size_t kMaxBuildId = 64;
  std::string out;
  if (!bytes || bytes->size() > kMaxBuildId) return out;
  for (uint8_t byte : *bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

// Puts the parts of a table together by their first id, up to the first gap.
template <typename Row>
void join(Decoding::Parts<Row>& parts, std::vector<Row>& out, const char* what, Decoding& state) {
  for (auto& [first, rows] : parts) {
    if (first != out.size()) {
      state.count(std::string("parts of the table of ") + what + " without the part before");
      break;
    }
    out.insert(out.end(), rows.begin(), rows.end());
    rows = {};
  }
  parts.clear();
  if (out.empty()) out.emplace_back();
  out[0] = Row{};
}

// CPython 3.12 to 3.14 runs a frame of its own below each __init__ that it calls without leaving its loop
// (_Py_InitCleanup, Python/specialize.c): file and function are "__init__". Python hides this frame. The result is
// for each frame the one that stands for it: itself, or the next one outside.
std::vector<uint32_t> leave_interpreters_frames_out(Dump& dump) {
  std::vector<uint32_t> kept(dump.python_frames.size());
  for (uint32_t i = 1; i < kept.size(); i++) {
    PythonFrame& frame = dump.python_frames[i];
    const Code& code = dump.codes[frame.code];
    frame.parent = kept[frame.parent];
    kept[i] = code.file == "__init__" && code.function == "__init__" ? frame.parent : i;
  }
  return kept;
}

}  // namespace

void decode_shared_objects(const format::SharedObjects& in, Decoding& state) {
  if (!in.values()) return;
  for (const auto* value : *in.values()) {
    if (value->begin() >= value->end()) {
      state.count("shared objects without addresses");
      continue;
    }
    state.dump.shared_objects.push_back(
        {charged(value->path(), state), value->load_bias(), value->begin(), value->end(), hex(value->build_id())});
  }
  std::stable_sort(state.dump.shared_objects.begin(), state.dump.shared_objects.end(),
                   [](const SharedObject& a, const SharedObject& b) { return a.begin < b.begin; });
}

void decode_codes(const format::Codes& in, Decoding& state) {
  if (!in.values()) return;
  for (const format::Code* value : *in.values()) {
    state.dump.codes.push_back({"", "", value->first_line()});
    state.stacks.code_strings.push_back({value->file(), value->name()});
  }
}

void decode_native_frames(const format::NativeFrames& in, Decoding& state) {
  if (!in.values()) return;
  std::vector<NativeFrame> rows;
  rows.reserve(in.values()->size());
  for (const format::NativeFrame* value : *in.values()) rows.push_back({value->address(), value->parent()});
  if (!state.stacks.native.try_emplace(in.first(), std::move(rows)).second) state.count("repeated table chunks");
}

void decode_python_frames(const format::PythonFrames& in, Decoding& state) {
  if (!in.values()) return;
  std::vector<PythonFrame> rows;
  rows.reserve(in.values()->size());
  for (const format::PythonFrame* value : *in.values()) {
    rows.push_back(
        {value->module_object(), value->parent(), value->code(), std::max(value->line(), 0), value->entry() != 0});
  }
  if (!state.stacks.python.try_emplace(in.first(), std::move(rows)).second) state.count("repeated table chunks");
}

void decode_sites(const format::Sites& in, Decoding& state) {
  if (!in.values()) return;
  std::vector<Site> rows;
  rows.reserve(in.values()->size());
  for (const format::Site* value : *in.values()) {
    rows.push_back({value->tensors_live(), value->tensors_total(), value->allocations_live(),
                    value->allocations_total(), value->bytes_live(), value->bytes_total(), value->bytes_peak(),
                    value->native(), value->python()});
  }
  if (!state.stacks.sites.try_emplace(in.first(), std::move(rows)).second) state.count("repeated table chunks");
}

void decode_threads(const format::Threads& in, Decoding& state) {
  if (!in.values()) return;
  for (const format::Thread* value : *in.values()) {
    state.dump.threads.push_back({value->tid(), "", value->alive() != 0});
    state.stacks.thread_names.push_back(value->name());
  }
}

void decode_names(const format::Names& in, Decoding& state) {
  state.dump.names_complete = in.complete();
  state.dump.names_detail = charged(in.detail(), state);
  if (!in.modules()) return;
  const OwnTexts texts(in.strings());
  auto str = [&](uint32_t index) -> std::string {
    if (texts.has(index)) return state.charged(texts[index]);
    state.count("references to missing texts");
    return {};
  };
  for (const format::ModuleName* row : *in.modules()) {
    state.dump.module_names.try_emplace(row->object(), Dump::ModuleName{str(row->path()), str(row->class_name())});
  }
}

void finish_codes_and_threads(Decoding& state) {
  Dump& dump = state.dump;
  for (size_t i = 0; i < dump.codes.size(); i++) {
    dump.codes[i].file = state.text(state.stacks.code_strings[i][0]);
    dump.codes[i].function = state.text(state.stacks.code_strings[i][1]);
  }
  for (size_t i = 0; i < dump.threads.size(); i++) dump.threads[i].name = state.text(state.stacks.thread_names[i]);
  if (dump.threads.empty()) dump.threads.emplace_back();
}

void finish_stacks(Decoding& state) {
  Dump& dump = state.dump;
  join(state.stacks.native, dump.native_frames, "native frames", state);
  join(state.stacks.python, dump.python_frames, "Python frames", state);
  join(state.stacks.sites, dump.sites, "sites", state);
  auto check_parent = [&](auto& frames) {
    for (size_t i = 1; i < frames.size(); i++) {
      if (frames[i].parent < i) continue;
      state.count("cyclic stacks");
      frames[i].parent = 0;
    }
  };
  check_parent(dump.native_frames);
  check_parent(dump.python_frames);
  const uint32_t unknown_code = uint32_t(dump.codes.size());
  dump.codes.emplace_back();
  for (size_t i = 1; i < dump.python_frames.size(); i++) {
    if (dump.python_frames[i].code < unknown_code) continue;
    state.count("references to missing Python code");
    dump.python_frames[i].code = unknown_code;
  }
  dump.python_frames[0].code = unknown_code;
  const std::vector<uint32_t> kept = leave_interpreters_frames_out(dump);
  SumGuard live, total, peak;
  for (Site& site : dump.sites) {
    if (site.native >= dump.native_frames.size() || site.python >= dump.python_frames.size()) {
      state.count("references to missing stacks");
      if (site.native >= dump.native_frames.size()) site.native = 0;
      if (site.python >= dump.python_frames.size()) site.python = 0;
    }
    site.python = kept[site.python];
    if (!live.admits(site.bytes_live)) site.bytes_live = 0, state.count("sites with impossible counters");
    if (!total.admits(site.bytes_total)) site.bytes_total = 0, state.count("sites with impossible counters");
    if (!peak.admits(site.bytes_peak)) site.bytes_peak = 0, state.count("sites with impossible counters");
  }
}

}  // namespace tensorscope::analyzer
