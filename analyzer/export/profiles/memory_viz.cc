// SPDX-License-Identifier: Apache-2.0
// The keys are those of torch.cuda.memory._snapshot() (torch/csrc/cuda/memory_snapshot.cpp, torch/cuda/memory.py
// of 2.14) as torch/cuda/_memory_viz.py and torch/utils/viz/MemoryViz.js read them; what is ours stands under
// "tensorscope".
#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "dump_generated.h"
#include "export/export.h"
#include "export/profiles/memory_viz_devices.h"
#include "export/profiles/pickle_writer.h"
#include "support/printable.h"

namespace tensorscope::exports {

namespace {

using analyzer::Dump;
using format::BlockState;

// One line of a device's history.
struct Event {
  uint64_t time_ns = 0, serial = 0;
  size_t segment = 0;  // index into VizDevice::segments
  size_t block = 0;    // index into VizDevice::blocks
  bool takes_segment = false;
};

const char* state_name(uint8_t state) {
  switch (BlockState(state)) {
    case BlockState::allocated:
      return "active_allocated";
    case BlockState::pending_free:
      return "active_pending_free";
    case BlockState::free:
      break;
  }
  return "inactive";
}

// "max_split_size_mb:128,expandable_segments:True"
std::string_view setting(std::string_view settings, std::string_view key) {
  while (!settings.empty()) {
    const size_t comma = std::min(settings.find(','), settings.size());
    const std::string_view entry = settings.substr(0, comma);
    settings.remove_prefix(std::min(comma + 1, settings.size()));
    if (entry.starts_with(key) && entry.substr(key.size()).starts_with(':')) return entry.substr(key.size() + 1);
  }
  return {};
}

class MemoryVizExport {
 public:
  MemoryVizExport(const Dump& dump, analyzer::Symbols& symbols, std::ostream& out, const ExportOptions& options)
      : dump_(dump), symbols_(symbols), options_(options), devices_(dump), pickle_(out) {
    std::vector<uint32_t> leaves;
    for (const analyzer::Site& site : dump.sites) {
      if (site.allocations_live > 0) leaves.push_back(site.native);
    }
    symbols_.prefetch(leaves);
    has_categories_ = std::any_of(options.categories.begin(), options.categories.end(),
                                  [](const std::string& category) { return category != "unknown"; });
  }

  void write() {
    pickle_.begin_dict();
    list("segments", [&] {
      for (size_t i = 0; i < devices_.size(); i++) write_segments(i);
    });
    list("device_traces", [&] {
      for (size_t i = 0; i < devices_.size(); i++) write_trace(i);
    });
    write_settings();
    list("external_annotations", [] {});
    write_origin();
    pickle_.end_dict();
    pickle_.finish();
  }

 private:
  void key(const char* name) { pickle_.text(name); }
  void field(const char* name, uint64_t value) { key(name), pickle_.number(value); }
  void field(const char* name, std::string_view value) { key(name), pickle_.text(value); }
  template <typename Elements>
  void list(const char* name, Elements elements) {
    key(name);
    pickle_.begin_list();
    elements();
    pickle_.end_list();
  }

  uint64_t unix_us(uint64_t ns) const {
    const analyzer::Process& p = dump_.process;
    return (p.dump_unix_ns - (p.dump_ns - std::min(std::max(ns, p.start_ns), p.dump_ns))) / 1000;
  }

  void write_segments(size_t device) {
    const VizDevice built = devices_.build(device);
    for (const VizSegment& segment : built.segments) {
      const VizBlock* blocks = built.blocks.data() + segment.first_block;
      uint64_t allocated = 0, active = 0, requested = 0;
      for (size_t i = 0; i < segment.block_count; i++) {
        if (BlockState(blocks[i].state) == BlockState::free) continue;
        active += blocks[i].size;
        requested += blocks[i].requested;
        if (BlockState(blocks[i].state) == BlockState::allocated) allocated += blocks[i].size;
      }
      pickle_.begin_dict();
      field("device", device);
      field("address", segment.address);
      field("total_size", segment.size);
      field("allocated_size", allocated);
      field("active_size", active);
      field("requested_size", requested);
      field("stream", segment.stream);
      field("segment_type", segment.small ? "small" : "large");
      key("segment_pool_id"), pickle_.pair(segment.pool_user, segment.pool);
      key("is_expandable"), pickle_.boolean(segment.expandable);
      frames(segment.site);
      list("blocks", [&] {
        for (size_t i = 0; i < segment.block_count; i++) write_block(blocks[i]);
      });
      pickle_.end_dict();
    }
  }

  void write_block(const VizBlock& block) {
    pickle_.begin_dict();
    field("address", block.address);
    field("size", block.size);
    field("requested_size", block.requested);
    field("state", state_name(block.state));
    frames(block.site);
    pickle_.end_dict();
  }

  // What is alive, in the order in which it was made. A segment comes before its first block, and only where that is
  // certain: the viewer, stepping back, takes a segment away and then looks for those of its blocks that are still
  // there.
  std::vector<Event> events(const VizDevice& built) const {
    std::vector<Event> result;
    for (size_t s = 0; s < built.segments.size(); s++) {
      const VizSegment& segment = built.segments[s];
      uint64_t first_ns = segment.created_ns, first_serial = segment.serial;
      bool every_block = !segment.expandable && segment.serial != 0;
      for (size_t b = segment.first_block; b < segment.first_block + segment.block_count; b++) {
        const VizBlock& block = built.blocks[b];
        if (BlockState(block.state) == BlockState::free) continue;
        if (block.serial == 0 || BlockState(block.state) != BlockState::allocated) {
          every_block = false;
          continue;
        }
        first_ns = std::min(first_ns, block.created_ns);
        first_serial = std::min(first_serial, block.serial);
        result.push_back({block.created_ns, block.serial, s, b, false});
      }
      if (every_block) result.push_back({first_ns, first_serial, s, 0, true});
    }
    std::sort(result.begin(), result.end(), [](const Event& a, const Event& b) {
      return std::tie(a.time_ns, a.serial, b.takes_segment) < std::tie(b.time_ns, b.serial, a.takes_segment);
    });
    return result;
  }

  void write_trace(size_t device) {
    const VizDevice built = devices_.build(device);
    pickle_.begin_list();
    for (const Event& event : events(built)) {
      const VizSegment& segment = built.segments[event.segment];
      pickle_.begin_dict();
      if (event.takes_segment) {
        write_event("segment_alloc", event.time_ns, segment.size, segment.stream, segment.site);
        field("addr", segment.address);
      } else {
        const VizBlock& block = built.blocks[event.block];
        write_event("alloc", event.time_ns, block.requested, segment.stream, block.site);
        field("addr", block.address);
        write_meaning(block);
      }
      key("pool_id"), pickle_.pair(segment.pool_user, segment.pool);
      pickle_.end_dict();
    }
    if (devices_.failed() == device) write_failure(device);
    if (!built.segments.empty() || devices_.failed() == device) write_moment();
    pickle_.end_list();
  }

  void write_event(const char* action, uint64_t time_ns, uint64_t size, uint64_t stream, uint32_t site) {
    field("action", action);
    field("time_us", unix_us(time_ns));
    field("size", size);
    field("stream", stream);
    frames(site);
  }

  // What a block is for: the viewer colours by category, and shows the text beside the stack.
  void write_meaning(const VizBlock& block) {
    uint32_t tensor = analyzer::kNone;
    if (block.allocation != analyzer::kNone) {
      uint64_t most = 0;
      for (uint32_t index : dump_.allocations[block.allocation].storages) {
        const analyzer::Storage& storage = dump_.storages[index];
        if (tensor != analyzer::kNone && storage.own_nbytes <= most) continue;
        most = storage.own_nbytes;
        tensor = options_.holders ? options_.holders->representative(index) : storage.tensors.front();
      }
    }
    const bool known = tensor < options_.categories.size();
    if (has_categories_) field("category", known ? options_.categories[tensor] : "unknown");
    key("user_metadata");
    if (tensor == analyzer::kNone) return pickle_.text(block.allocation == analyzer::kNone ? "" : "in no tensor");
    std::string text = "#" + std::to_string(dump_.tensors[tensor].serial);
    if (options_.holders && !options_.holders->names(tensor).empty()) {
      text += " " + options_.holders->names(tensor).front();
    }
    pickle_.text_once(analyzer::printable(text));
  }

  void write_failure(size_t device) {
    const analyzer::Failure& failure = *dump_.failure;
    const analyzer::DeviceMemory* memory = devices_.memory(device);
    pickle_.begin_dict();
    write_event("oom", failure.failed_ns, failure.requested, 0, failure.site);
    field("device_free", failure.limit_bytes != 0 ? failure.left_bytes : memory != nullptr ? memory->driver_free : 0);
    pickle_.end_dict();
  }

  // When the dump was made, as torch marks the moment of a snapshot. Its category is one that the viewer needs to know
  // as soon as it knows any (annotate_snapshot in MemoryViz.js).
  void write_moment() {
    pickle_.begin_dict();
    write_event("snapshot", dump_.process.dump_ns, 0, 0, 0);
    field("addr", uint64_t{0});
    if (has_categories_) field("category", "unknown");
    pickle_.end_dict();
  }

  void write_settings() {
    std::string settings;
    for (const analyzer::DeviceMemory& memory : dump_.device_memory) {
      if (settings.empty()) settings = memory.settings;
    }
    key("allocator_settings");
    pickle_.begin_dict();
    field("PYTORCH_CUDA_ALLOC_CONF", analyzer::printable(settings));
    key("expandable_segments"), pickle_.boolean(setting(settings, "expandable_segments") == "True");
    pickle_.end_dict();
  }

  void write_origin() {
    key("tensorscope");
    pickle_.begin_dict();
    field("version", analyzer::printable(dump_.process.tensorscope_version));
    field("dump", analyzer::printable(dump_.path));
    list("devices", [&] {
      for (size_t i = 0; i < devices_.size(); i++) pickle_.text(devices_.name(i));
    });
    pickle_.end_dict();
  }

  void frames(uint32_t site) {
    key("frames");
    auto [found, fresh] = stacks_.try_emplace(site);
    if (!fresh) return pickle_.refer(found->second);
    found->second = pickle_.begin_shared_list();
    if (site != 0) {
      for (const analyzer::Frame& frame : symbols_.shown(dump_.sites[site], options_.full_stacks)) write_frame(frame);
    }
    pickle_.end_list();
  }

  void write_frame(const analyzer::Frame& frame) {
    const std::string name = frame.function.empty() ? "??" : analyzer::printable(frame.function);
    const std::string file = !frame.file.empty()     ? analyzer::printable(frame.file)
                             : !frame.object.empty() ? analyzer::printable(frame.object)
                                                     : "??";
    const uint64_t line = uint64_t(std::max(frame.line, 0));
    auto [found, fresh] = frames_.try_emplace(file + '\n' + std::to_string(line) + '\n' + name);
    if (!fresh) return pickle_.refer(found->second);
    found->second = pickle_.begin_shared_dict();
    field("name", name);
    field("filename", file);
    field("line", line);
    pickle_.end_dict();
  }

  const Dump& dump_;
  analyzer::Symbols& symbols_;
  const ExportOptions& options_;
  const VizDevices devices_;
  PickleWriter pickle_;
  bool has_categories_ = false;
  std::unordered_map<uint32_t, PickleWriter::Reference> stacks_;  // by site
  std::unordered_map<std::string, PickleWriter::Reference> frames_;
};

}  // namespace

void export_memory_viz(const Dump& dump, analyzer::Symbols& symbols, std::ostream& out, const ExportOptions& options) {
  MemoryVizExport(dump, symbols, out, options).write();
}

}  // namespace tensorscope::exports
