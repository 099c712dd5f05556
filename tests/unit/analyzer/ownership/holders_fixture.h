// SPDX-License-Identifier: Apache-2.0
// A training program with a model of two layers, as small as it can be, and what its holders are.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "ownership/holders.h"
#include "unit/analyzer/questions_fixture.h"

namespace tensorscope::analyzer {

using format::ReferenceRole;
using format::ReferenceRoot;
using format::TensorFlag;
using testing::Asked;
using testing::DumpBuilder;
using testing::GraphNodeSpec;
using testing::TensorSpec;

inline constexpr uint32_t kTrained = uint32_t(TensorFlag::leaf) | uint32_t(TensorFlag::requires_grad);
inline const std::string kTorch = "/v/site-packages/torch/";

inline std::string mangled(const std::string& name) {
  return "N5torch8autograd9generated" + std::to_string(name.size()) + name + "E";
}

class HoldersTest : public ::testing::Test {
 protected:
  HoldersTest() {
    builder_.has_graph = builder_.has_references = true;
    builder_.module_name(0x1, "model", "Net");
    builder_.module_name(0x2, "model.fc1", "Linear");
    builder_.module_name(0x3, "model.fc2", "Linear");
    main_ = builder_.python({{"/x/train.py", "main", 10}});
    call_ = builder_.python({{kTorch + "nn/modules/module.py", "_wrapped_call_impl", 1, false, 0x1}}, main_);
    forward_ = builder_.python({{"/x/train.py", "Net.forward", 20}}, call_);
    in_main_ = builder_.site(0, main_);
    in_fc1_ = builder_.site(0, layer(0x2, 21));
    in_fc2_ = builder_.site(0, layer(0x3, 22));
  }

  uint32_t layer(uint64_t object, int line) {
    return builder_.python({{"/x/train.py", "Net.forward", line},
                            {kTorch + "nn/modules/module.py", "_wrapped_call_impl", 1, false, object},
                            {kTorch + "nn/modules/linear.py", "Linear.forward", 2}},
                           call_);
  }

  uint64_t tensor(TensorSpec spec = {}) {
    if (spec.sizes.empty()) spec.sizes = {4};
    if (spec.storage_base == 0) spec.storage_base = 0x10000 + 0x1000 * ++blocks_;
    return builder_.tensor(spec);
  }
  uint64_t result_of(uint32_t node, uint32_t site) {
    TensorSpec spec;
    spec.grad_fn = builder_.graph_address(node);
    spec.flags = uint32_t(TensorFlag::requires_grad);
    spec.site = site;
    return tensor(spec);
  }
  uint32_t node(const std::string& name, uint32_t site = 0) {
    GraphNodeSpec spec{mangled(name)};
    spec.address = 0x50000 + 0x100 * ++nodes_;
    if (site != 0) spec.serial = builder_.node(spec.address, mangled(name), site);
    return builder_.graph_node(spec);
  }
  void global(uint64_t tensor, const std::string& text) { builder_.reference({tensor, text, "train.py"}); }
  void local(uint64_t tensor, const std::string& text, const std::string& function) {
    builder_.reference({tensor, text, function, "", ReferenceRoot::local});
  }
  void path(uint64_t tensor, const std::string& text, ReferenceRole role = ReferenceRole::parameter) {
    builder_.reference({tensor, text, "train.py", "dict", ReferenceRoot::global, role});
  }

  void read() {
    asked_ = std::make_unique<Asked>(builder_);
    ASSERT_THAT(asked_->dump.problems, ::testing::IsEmpty());
  }
  uint32_t index(uint64_t serial) const {
    for (uint32_t i = 0; i < asked_->dump.tensors.size(); i++) {
      if (asked_->dump.tensors[i].serial == serial) return i;
    }
    return kNone;
  }
  const Holders& holders() const { return asked_->holders; }
  const std::vector<std::string>& names(uint64_t serial) const { return holders().names(index(serial)); }
  std::vector<std::string> held_by(uint64_t serial) const {
    std::vector<std::string> texts;
    for (const Holder& holder : holders().holders(index(serial))) texts.push_back(holder.text);
    return texts;
  }
  Category category(uint64_t serial) const { return holders().category(index(serial)); }
  const std::string& evidence(uint64_t serial) const { return holders().evidence(index(serial)); }
  const std::string& module(uint64_t serial) const { return holders().module(index(serial)); }

  DumpBuilder builder_;
  std::unique_ptr<Asked> asked_;
  uint32_t main_, call_, forward_, in_main_, in_fc1_, in_fc2_;
  uint64_t blocks_ = 0, nodes_ = 0;
};

}  // namespace tensorscope::analyzer
