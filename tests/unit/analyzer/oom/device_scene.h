// SPDX-License-Identifier: Apache-2.0
// A GPU with segments, blocks and tensors in them, and a request that failed there: built piece by piece, and told.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../questions_fixture.h"
#include "oom/oom_analysis.h"

namespace tensorscope::testing {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr analyzer::Device kGpu = {1, 0};

class DeviceScene {
 public:
  DeviceScene() {
    builder.has_graph = builder.has_references = true;
    memory.driver_total = 1024 * kMiB;
    memory.driver_free = 4 * kMiB;
    failure.requested = 100 * kMiB;
  }

  DumpBuilder builder;
  DeviceMemorySpec memory;
  FailureSpec failure;
  bool failed = true, totals = true;
  uint64_t not_seen = 0;  // allocated bytes that have no row

  // Blocks that follow lie in a new segment, which is as large as they are together.
  DeviceScene& segment(uint64_t stream = 0, uint64_t pool = 0, uint8_t flags = 0) {
    SegmentSpec& spec = memory.segments.emplace_back();
    spec.address = 0x700000000000 + memory.segments.size() * 0x1000000000;
    spec.stream = stream;
    spec.pool = pool;
    spec.flags = flags;
    return *this;
  }
  uint64_t piece(uint64_t bytes, format::BlockState state = format::BlockState::free) {
    SegmentSpec& spec = memory.segments.back();
    const uint64_t address = spec.address + spec.size;
    spec.blocks.emplace_back(address, bytes, 0, state);
    spec.size += bytes;
    return address;
  }
  // A block that is in use.
  uint64_t block(uint64_t bytes, uint32_t site = 0) {
    AllocationSpec row;
    row.pointer = piece(bytes, format::BlockState::allocated);
    row.nbytes = bytes;
    row.site = site;
    row.kind = format::AllocationKind::caching;
    row.device_type = 1;
    row.device_index = 0;
    builder.allocation(row);
    allocated += bytes;
    return row.pointer;
  }
  // A tensor on a block of its own. Returns its serial.
  uint64_t tensor(uint64_t bytes, uint32_t site = 0, uint64_t rounding = 0, TensorSpec spec = {}) {
    spec.storage_base = block(bytes + rounding, site);
    spec.itemsize = 1;
    spec.sizes = {int64_t(bytes)};
    spec.device_type = 1;
    spec.device_index = 0;
    spec.site = site;
    return builder.tensor(spec);
  }
  void held(uint64_t serial, const std::string& text, format::ReferenceRoot root = format::ReferenceRoot::global,
            format::ReferenceRole role = format::ReferenceRole::plain) {
    const bool cycle = root == format::ReferenceRoot::cycle;
    builder.reference({serial, text, cycle ? "Net, dict" : "train.py", "list", root, role, 2});
    builder.tensor_object(
        {serial, "Tensor", 1, cycle ? format::WrapperState::garbage : format::WrapperState::referenced});
  }

  // A place in a forward pass: the module and those around it, "model", "model.layers.0".
  uint32_t in_module(const std::string& path, int line) {
    std::vector<std::string> modules;
    for (size_t end = 0; end != std::string::npos;) {
      end = path.find('.', end + 1);
      modules.push_back(path.substr(0, end));
    }
    return in_calls(modules, line);
  }
  // A place in calls of modules, the outermost first.
  uint32_t in_calls(const std::vector<std::string>& modules, int line) {
    uint32_t python = builder.python({{"/home/user/train.py", "main", 7, true}});
    for (const std::string& module : modules) {
      const uint64_t object = std::hash<std::string>{}(module) | 1;
      builder.module_name(object, module, "Module");
      python = builder.python({{"/usr/lib/python3.11/site-packages/torch/nn/modules/module.py",
                                "Module._wrapped_call_impl", 1775, false, object},
                               {"/home/user/model.py", module, line}},
                              python);
    }
    return builder.site(0, python);
  }
  uint32_t node(uint32_t site, const char* class_name = "N5torch8autograd9generated13TanhBackward0E") {
    GraphNodeSpec spec;
    spec.class_name = class_name;
    spec.address = 0x600000000000 + ++nodes_ * 512;
    spec.serial = builder.node(spec.address, spec.class_name, site);
    return builder.graph_node(spec);
  }
  // What only this node's slot holds.
  uint64_t saved(uint64_t bytes, uint32_t site, uint32_t node) {
    const uint64_t serial = tensor(bytes, site);
    SavedSpec slot;
    slot.tensor = serial;
    builder.saved(node, slot);
    return serial;
  }

  uint64_t reserved() const {
    uint64_t sum = 0;
    for (const SegmentSpec& spec : memory.segments) sum += spec.size;
    return sum;
  }
  uint64_t allocated = 0;

 private:
  uint64_t nodes_ = 0;
};

// The story of a scene.
class Told {
 public:
  explicit Told(DeviceScene& scene) {
    if (scene.totals) {
      const uint64_t bytes = scene.allocated + scene.not_seen;
      scene.builder.device_total(
          format::DeviceTotal(bytes, bytes, 1, 1, bytes, bytes, scene.reserved(), scene.reserved(), 1, 0));
    }
    scene.builder.device_memory(scene.memory);
    if (scene.failed) scene.builder.failure(scene.failure);
    asked_ = std::make_unique<Asked>(scene.builder);
    const std::vector<analyzer::View> views = {asked_->view()};
    analysis = analyzer::oom::oom_analysis_of(views, views, kGpu);
  }

  analyzer::oom::OomAnalysis analysis;
  const analyzer::Dump& dump() const { return asked_->dump; }

  const analyzer::oom::BalanceNode& part(const std::string& name) const {
    static const analyzer::oom::BalanceNode kNone;
    const analyzer::oom::BalanceNode* found = named(analysis.balance, name);
    return found == nullptr ? kNone : *found;
  }
  int64_t bytes(const std::string& name) const { return part(name).bytes.value_or(-1); }
  // Null: there is no such remedy.
  const analyzer::oom::Remedy* remedy(analyzer::oom::RemedyKind kind) const {
    for (const analyzer::oom::Remedy& one : analysis.remedies) {
      if (one.kind == kind) return &one;
    }
    return nullptr;
  }

 private:
  static const analyzer::oom::BalanceNode* named(const analyzer::oom::BalanceNode& part, const std::string& name) {
    if (analyzer::oom::name(part) == name) return &part;
    for (const analyzer::oom::BalanceNode& below : part.parts) {
      if (const analyzer::oom::BalanceNode* found = named(below, name)) return found;
    }
    return nullptr;
  }
  std::unique_ptr<Asked> asked_;
};

// Every part is the sum of those below it, wherever all of these are known.
inline bool sums_agree(const analyzer::oom::BalanceNode& part) {
  int64_t sum = 0;
  bool known = part.bytes.has_value();
  for (const analyzer::oom::BalanceNode& below : part.parts) {
    if (!sums_agree(below)) return false;
    known = known && below.bytes.has_value();
    sum += below.bytes.value_or(0);
  }
  return part.parts.empty() || !known || sum == *part.bytes;
}

}  // namespace tensorscope::testing
