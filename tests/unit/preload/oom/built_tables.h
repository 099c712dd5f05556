// SPDX-License-Identifier: Apache-2.0
// Tables of a dump built by hand, and Python frames that stand before the library's own. For one file of a test
// program.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dump_generated.h"
#include "oom/holdings.h"
#include "stacks/python/python_stack.h"
#include "support/fake_frames.h"

namespace tensorscope::stacks {
// What else is defined beside the functions of fake_frames.h.
const char* python_version() { return ""; }
bool python_names_are_qualified() { return true; }
bool start_python(bool) { return false; }
bool check_python_with_gil() { return false; }
StackId capture_python() { return 0; }
}  // namespace tensorscope::stacks

namespace tensorscope::oom {

class BuiltTables : public testing::Test {
 protected:
  static constexpr Device kCuda0{1, 0};
  static constexpr uint32_t kAll = ~0u;
  static constexpr uint32_t kTrained = uint32_t(format::TensorFlag::leaf) | uint32_t(format::TensorFlag::requires_grad);

  BuiltTables() {
    stacks::g_python = {{}};
    stacks::g_codes.clear();
    sites_.resize(1);
    references_.complete = true;
  }

  // A site whose Python stack is one frame a file, outermost first.
  SiteId site(const std::vector<const char*>& files) {
    StackId parent = 0;
    for (const char* file : files) parent = stacks::add_python_frame(file, 7, parent, parent == 0);
    live::SiteCounters counters{};
    counters.python = parent;
    sites_.push_back(counters);
    return SiteId(sites_.size() - 1);
  }
  void block(uint64_t pointer, uint64_t nbytes, SiteId site = 0, Device device = kCuda0) {
    live::AllocationEntry entry{};
    entry.pointer = reinterpret_cast<const void*>(pointer);
    entry.nbytes = nbytes;
    entry.serial = ++serial_;
    entry.site = site;
    entry.device = device;
    blocks_.push_back(entry);
  }
  // Its address is its serial times 1000. Returns its serial.
  Serial tensor(uint64_t base, uint64_t nbytes, uint32_t flags = 0, uint64_t grad = 0, SiteId site = 0) {
    ++serial_;
    tensors_.push_back({serial_, serial_ * 1000, base, nbytes, grad, site, kAll, flags, kCuda0});
    return serial_;
  }
  void reference(Serial tensor, const char* text, format::ReferenceRole role = format::ReferenceRole::plain,
                 format::ReferenceRoot root = format::ReferenceRoot::global, const char* scope = "",
                 const char* holder = "") {
    auto& strings = references_.strings;
    references_.references.emplace_back(tensor, strings.intern(text), strings.intern(scope), strings.intern(holder),
                                        UINT32_MAX, uint16_t{0}, root, role);
  }
  // As reference(); the text begins in this call, or at this object.
  void reference_in_call(Serial tensor, const char* text, const char* scope, const char* thread, uint64_t number) {
    reference(tensor, text, format::ReferenceRole::plain, format::ReferenceRoot::local, scope, "list");
    references_.calls.emplace_back(number, references_.strings.intern(thread), 1u);
    begins(references_.call_of, uint32_t(references_.calls.size()));
  }
  void reference_from(uint64_t object, Serial tensor, const char* text, format::ReferenceRoot root, const char* scope) {
    reference(tensor, text, format::ReferenceRole::plain, root, scope, "list");
    references_.beginnings.push(object);
    begins(references_.begins_at, uint32_t(references_.beginnings.size()));
  }
  void begins(PageArray<uint32_t>& places, uint32_t place) {
    ASSERT_TRUE(places.resize(references_.references.size()));
    places[places.size() - 1] = place;
  }
  void object(Serial tensor, format::WrapperState state, bool optimized = false, bool trained = false) {
    references_.tensors.emplace_back(tensor, 0u, 1u, state, uint8_t(optimized), uint8_t(trained));
  }
  void saved(Serial tensor, uint8_t node_flags = 0) {
    if (graph_.class_names.empty()) graph_.class_names.push_back("N5torch8autograd9generated13ReluBackward0E");
    torch::Graph::Node node;
    node.saved = 1;
    node.flags = node_flags;
    graph_.nodes.push_back(node);
    graph_.saved.emplace_back(tensor, uint16_t{0}, int16_t{-1}, format::SlotState::held, uint8_t{0});
  }
  // On the stack of something that no test asks about.
  void call_of_module() {
    site({"/p/site-packages/torch/nn/modules/module.py"});
    stacks::g_python.back().module_object = 1;
  }
  // A node that was recorded, by its serial.
  void node(Serial serial) {
    live::NodeEntry entry{};
    entry.serial = serial;
    nodes_.push_back(entry);
  }

  DumpTables tables() {
    view_.allocations = {blocks_.data(), blocks_.size()};
    view_.sites = {sites_.data(), sites_.size()};
    view_.nodes = {nodes_.data(), nodes_.size()};
    return {view_, tensors_, graph_, references_};
  }

  std::vector<live::AllocationEntry> blocks_;
  std::vector<live::SiteCounters> sites_;
  std::vector<live::NodeEntry> nodes_;
  std::vector<dump::TensorFacts> tensors_;
  torch::Graph graph_;
  python::References references_;
  live::SnapshotView view_;
  Serial serial_ = 0;
};

}  // namespace tensorscope::oom
