// SPDX-License-Identifier: Apache-2.0
// A program in steps, dumped several times: what is alive after each step, built by one function that is told how many
// steps were done. What is made in step n has serials from n * 1000 on, so that it is the same thing in every dump.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../questions_fixture.h"
#include "leaks/leaks.h"

namespace tensorscope::testing {

inline constexpr const char* kAdd = "N5torch8autograd9generated12AddBackward0E";
inline constexpr const char* kTanh = "N5torch8autograd9generated13TanhBackward0E";
inline constexpr const char* kAccumulate = "N5torch8autograd14AccumulateGradE";
inline constexpr const char* kToCopy = "N5torch8autograd9generated15ToCopyBackward0E";

inline uint64_t serial_at(int step, int number) { return uint64_t(step) * 1000 + uint64_t(number); }

class Scene {
 public:
  explicit Scene(int steps) : until(serial_at(steps, 999)), steps_(steps) {
    builder.dump_number = uint32_t(steps);
    builder.ns_each_serial = 1'000'000;  // a step takes a second
    builder.dump_ns = builder.start_ns + serial_at(steps + 1, 0) * builder.ns_each_serial;
    builder.has_graph = builder.has_references = true;
  }

  DumpBuilder builder;
  uint64_t until;  // the newest serial at the dump, which is taken after the last step
  int steps() const { return steps_; }

  uint32_t site(int line, const std::string& function = "step") {
    return builder.site(0, builder.python({{"/home/user/train.py", function, line}}));
  }
  // A tensor of floats on a block of its own, that nothing refers to yet.
  TensorSpec plain(uint64_t serial, int64_t floats, uint32_t site) {
    AllocationSpec block;
    block.serial = serial;
    block.pointer = 0x100000000000 + serial * 0x100000000;
    block.nbytes = uint64_t(floats) * 4;
    block.site = site;
    builder.allocation(block);
    TensorSpec tensor;
    tensor.serial = serial + 1;
    tensor.address = address(serial);
    tensor.sizes = {floats};
    tensor.storage_base = block.pointer;
    tensor.site = site;
    return tensor;
  }
  static uint64_t address(uint64_t serial) { return 0x7f0000000000 + serial * 256; }
  uint64_t add(const TensorSpec& tensor) { return builder.tensor(tensor); }

  // What a variable or container refers to.
  void held(uint64_t serial, const std::string& text, format::ReferenceRoot root = format::ReferenceRoot::global,
            format::ReferenceRole role = format::ReferenceRole::plain) {
    ReferenceSpec row;
    row.tensor = serial;
    row.text = text;
    row.scope = root == format::ReferenceRoot::global  ? "train.py"
                : root == format::ReferenceRoot::cycle ? "Net, dict"
                                                       : "main";
    row.root = root;
    row.role = role;
    row.steps = text.find_first_of("[.") == std::string::npos ? 1 : 2;
    builder.reference(row);
  }
  // What an entry of a container refers to, which others have as well.
  void held_in_shared(uint64_t serial, const std::string& text, const std::string& entry,
                      const std::vector<std::string>& others) {
    ReferenceSpec row;
    row.tensor = serial;
    row.text = text;
    row.scope = "train.py";
    row.steps = 2;
    row.shared = entry;
    for (const std::string& other : others) row.others.push_back({other});
    builder.reference(row);
  }
  void object(uint64_t serial, bool optimized = false, bool trained = false,
              format::WrapperState state = format::WrapperState::referenced) {
    TensorObjectSpec row;
    row.tensor = serial;
    row.references = 1;
    row.optimized = optimized;
    row.trained = trained;
    row.state = state;
    builder.tensor_object(row);
  }
  uint64_t kept(uint64_t serial, int64_t floats, uint32_t site, const std::string& text,
                format::ReferenceRoot root = format::ReferenceRoot::global) {
    const uint64_t made = add(plain(serial, floats, site));
    held(made, text, root);
    object(made);
    return made;
  }

  // The same of any reference; its `tensor` is set.
  uint64_t kept_as(uint64_t serial, int64_t floats, uint32_t site, ReferenceSpec row) {
    row.tensor = add(plain(serial, floats, site));
    builder.reference(row);
    object(row.tensor);
    return row.tensor;
  }

  // A node of the graph that was made with this serial.
  uint32_t node(uint64_t serial, const char* class_name, const std::vector<uint32_t>& inputs = {}) {
    GraphNodeSpec spec;
    spec.class_name = class_name;
    spec.address = 0x600000000000 + serial * 512;
    spec.serial = builder.node(spec.address, class_name, 0, serial);
    spec.sequence = serial;
    for (uint32_t input : inputs) spec.edges.emplace_back(input, 0);
    return builder.graph_node(spec);
  }
  // A tensor that only a slot of the node holds.
  uint64_t saved(uint64_t serial, int64_t floats, uint32_t site, uint32_t node) {
    const uint64_t made = add(plain(serial, floats, site));
    SavedSpec slot;
    slot.tensor = made;
    builder.saved(node, slot);
    return made;
  }

 private:
  int steps_;
};

// The dumps of a run, and what is found in them.
class Dumps {
 public:
  using Program = std::function<void(Scene&)>;

  explicit Dumps(const Program& program, const std::vector<int>& dumps = {10, 20, 30},
                 const analyzer::Filter& filter = {}) {
    for (int steps : dumps) {
      Scene scene(steps);
      program(scene);
      while (scene.builder.next_serial() < scene.until) continue;
      asked_.push_back(std::make_unique<Asked>(scene.builder, filter));
    }
    leaks = analyzer::find_leaks(views(), filter.empty());
  }

  std::vector<analyzer::View> views() {
    std::vector<analyzer::View> views;
    for (auto& asked : asked_) views.push_back(asked->view());
    return views;
  }
  Asked& last() { return *asked_.back(); }
  std::vector<std::string> kinds() const {
    std::vector<std::string> names;
    for (const analyzer::LeakFinding& finding : leaks.findings) names.emplace_back(analyzer::name(finding.kind));
    return names;
  }
  const analyzer::LeakFinding& only() const { return leaks.findings.at(0); }

  analyzer::Leaks leaks;

 private:
  std::vector<std::unique_ptr<Asked>> asked_;
};

}  // namespace tensorscope::testing
