// SPDX-License-Identifier: Apache-2.0
#include "oom/autocast_types.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device_scene.h"

namespace tensorscope::analyzer::oom {
namespace {

using testing::DeviceScene;
using testing::kMiB;
using testing::Told;

// A forward pass on a device: nodes, what they made and what they saved.
class Pass {
 public:
  Pass() { scene_.segment(); }

  // `loss`: the function that called torch's cross_entropy for it.
  uint32_t node(const std::string& operation, const std::vector<uint32_t>& given = {}, uint8_t flags = 0,
                const char* loss = nullptr) {
    const std::string name = operation + "Backward0";
    const std::string mangled = "N5torch8autograd9generated" + std::to_string(name.size()) + name + "E";
    testing::GraphNodeSpec spec;
    spec.class_name = mangled;
    spec.address = address(uint32_t(nodes_++));
    spec.serial = scene_.builder.node(spec.address, spec.class_name, loss == nullptr ? site_ : in_loss(loss));
    spec.flags = flags;
    const uint32_t made = scene_.builder.graph_node(spec);
    for (uint32_t from : given) scene_.builder.edge(made, from);
    return made;
  }
  uint32_t leaf() { return node("Accumulate", {}, uint8_t(format::GraphNodeFlag::accumulates)); }
  // A tensor that came out of this node, and the nodes that saved it.
  uint64_t made(uint64_t bytes, uint32_t by, const std::vector<uint32_t>& savers) {
    testing::TensorSpec spec;
    spec.grad_fn = address(by);
    const uint64_t serial = scene_.tensor(bytes, site_, 0, spec);
    for (uint32_t saver : savers) saved(serial, saver);
    return serial;
  }
  void saved(uint64_t serial, uint32_t saver, bool output = false) {
    testing::SavedSpec slot;
    slot.tensor = serial;
    slot.output = output;
    scene_.builder.saved(saver, slot);
  }
  uint64_t parameter(uint64_t bytes) {
    const uint64_t serial = scene_.tensor(bytes);
    scene_.held(serial, "model.weight", format::ReferenceRoot::global, format::ReferenceRole::parameter);
    return serial;
  }
  void held(uint64_t serial, const std::string& name) { scene_.held(serial, name); }
  // What autocast gives, in MiB; 0: it is not advised.
  uint64_t gain() { return told(&Remedy::bytes); }
  // The least that it gives.
  uint64_t least() { return told(&Remedy::low); }

 private:
  uint64_t told(uint64_t Remedy::*bytes) {
    const Told told(scene_);
    const Remedy* remedy = told.remedy(RemedyKind::lower_precision);
    return remedy == nullptr ? 0 : remedy->*bytes / kMiB;
  }
  uint32_t in_loss(const char* function) {
    const uint32_t python = scene_.builder.python(
        {{"/home/user/train.py", function, 20, true},
         {"/usr/lib/python3.11/site-packages/torch/nn/functional.py", "cross_entropy", 3000, false}});
    return scene_.builder.site(0, python);
  }
  static uint64_t address(uint32_t node) { return 0x600000000000 + node * 512; }

  DeviceScene scene_;
  const uint32_t site_ = scene_.in_module("model", 10);
  size_t nodes_ = 0;
};

// Autocast runs the loss in float32 on a device: what it saves stays, whatever the precision of the model.
TEST(AutocastTypes, WhatALossSavesStays) {
  Pass pass;
  const uint32_t product = pass.node("Addmm", {pass.leaf()});
  pass.made(60 * kMiB, product, {pass.node("Relu", {product})});
  const uint32_t loss = pass.node("LogSoftmax", {product});
  pass.saved(pass.made(80 * kMiB, loss, {}), loss, /*output=*/true);
  EXPECT_EQ(pass.gain(), 30u);
}

TEST(AutocastTypes, ASumWithFloat32IsFloat32AndEachProductCopiesIt) {
  Pass pass;
  const uint32_t embedding = pass.node("Embedding", {pass.leaf()});
  const uint32_t product = pass.node("Mm", {embedding});
  const uint32_t sum = pass.node("Add", {product, embedding});
  const uint32_t norm = pass.node("NativeLayerNorm", {sum});
  pass.made(200 * kMiB, product, {pass.node("Gelu", {product})});  // half
  pass.made(70 * kMiB, sum, {norm});                               // stays
  pass.made(40 * kMiB, norm, {pass.node("Addmm", {norm})});        // a copy in its place
  EXPECT_EQ(pass.gain(), 100u + 20u);
  pass.made(60 * kMiB, norm, {pass.node("Addmm", {norm}), pass.node("Addmm", {norm}), pass.node("Addmm", {norm})});
  EXPECT_EQ(pass.gain(), 100u + 20u - 30u);
  pass.made(10 * kMiB, norm, {pass.node("Mul", {norm}), pass.node("Addmm", {norm})});
  EXPECT_EQ(pass.gain(), 100u + 20u - 30u - 5u);
}

// A kernel that a device has for 16 bits alone saves no weights.
TEST(AutocastTypes, WeightsOfAttentionByItsFormulaMayGoWhole) {
  Pass pass;
  const uint32_t softmax = pass.node("SafeSoftmax", {pass.node("Bmm", {pass.leaf()})});
  const uint64_t weights = pass.made(80 * kMiB, softmax, {pass.node("Bmm", {softmax})});
  pass.saved(weights, softmax, /*output=*/true);
  EXPECT_EQ(pass.gain(), 80u);
}

TEST(AutocastTypes, WhatAVariableHoldsStaysBesideItsCopies) {
  Pass pass;
  const uint32_t product = pass.node("Mm", {pass.leaf()}), norm = pass.node("NativeLayerNorm", {product});
  pass.made(100 * kMiB, product, {pass.node("Gelu", {product})});
  pass.held(pass.made(40 * kMiB, norm, {pass.node("Mm", {norm})}), "h");
  EXPECT_EQ(pass.gain(), 50u - 20u);
}

// A float32 run does not show that logits are cast; transformers' own losses are known to cast them.
TEST(AutocastTypes, ALossOfCrossEntropyHasTheTypeOfItsLogits) {
  for (const bool casts : {false, true}) {
    Pass pass;
    const uint32_t product = pass.node("Addmm", {pass.leaf()});
    pass.made(100 * kMiB, product, {pass.node("Relu", {product})});
    const uint32_t softmax = pass.node("LogSoftmax", {product}, 0, casts ? "ForCausalLMLoss" : "criterion");
    const uint32_t loss = pass.node("NllLoss", {softmax});
    const uint64_t result = pass.made(60 * kMiB, softmax, {loss});
    pass.saved(result, softmax, /*output=*/true);
    EXPECT_EQ(pass.gain(), casts ? 50u : 50u - 30u);  // in both types, one for each node
    const uint64_t alone = pass.made(40 * kMiB, softmax, {});
    pass.saved(alone, softmax, /*output=*/true);
    EXPECT_EQ(pass.gain(), casts ? 50u : 50u - 30u + 20u);
  }
}

TEST(AutocastTypes, NormsAndPowersSaveCopiesInFloat32) {
  Pass pass;
  const uint32_t product = pass.node("Mm", {pass.leaf()});
  pass.made(100 * kMiB, product, {pass.node("Gelu", {product})});
  pass.made(60 * kMiB, product, {pass.node("Pow", {product})});
  EXPECT_EQ(pass.gain(), 50u);
  pass.made(60 * kMiB, product, {pass.node("Pow", {product}), pass.node("Mul", {product})});
  EXPECT_EQ(pass.gain(), 50u - 30u);
}

TEST(AutocastTypes, BatchNormHasTheTypeOfItsInput) {
  Pass pass;
  const uint32_t product = pass.node("Convolution", {pass.leaf()});
  const uint32_t norm = pass.node("CudnnBatchNorm", {product, pass.leaf(), pass.leaf()});
  pass.made(100 * kMiB, norm, {pass.node("Relu", {norm})});
  EXPECT_EQ(pass.gain(), 50u);
}

TEST(AutocastTypes, AFunctionOfTheProgramMayMakeTheNarrowerType) {
  Pass pass;
  const auto function = uint8_t(format::GraphNodeFlag::python);
  const uint32_t product = pass.node("Mm", {pass.leaf()});
  const uint32_t mixed = pass.node("Swish", {product, pass.leaf()}, function);
  pass.made(100 * kMiB, mixed, {pass.node("Mul", {mixed})});
  EXPECT_EQ(pass.gain(), 50u);
  const uint32_t whole = pass.node("Swish", {pass.leaf(), pass.leaf()}, function);
  pass.made(100 * kMiB, whole, {pass.node("Mul", {whole})});
  EXPECT_EQ(pass.gain(), 50u);
}

// One for all products that use it.
TEST(AutocastTypes, EachWeightIsCopiedOnce) {
  Pass pass;
  const uint32_t product = pass.node("Mm", {pass.leaf()}), other = pass.node("Mm", {product});
  pass.made(100 * kMiB, product, {other});
  const uint64_t weight = pass.parameter(20 * kMiB);
  pass.saved(weight, product);
  EXPECT_EQ(pass.gain(), 50u - 10u);
  pass.saved(weight, other);
  EXPECT_EQ(pass.gain(), 50u - 10u);
}

// Of a product and of what has its type alone the type is known; the largest may be cast by what runs.
TEST(AutocastTypes, TheLeastIsOfWhatSurelyIsHalf) {
  Pass pass;
  const uint32_t product = pass.node("Mm", {pass.leaf()}), gelu = pass.node("Gelu", {product});
  pass.made(50 * kMiB, product, {gelu});
  pass.made(60 * kMiB, product, {gelu});
  pass.made(80 * kMiB, gelu, {pass.node("Mm", {gelu})});
  EXPECT_EQ(pass.gain(), 95u);
  EXPECT_EQ(pass.least(), 95u - 80u);
  // Something without a gradient, such as a mask, may be float32, and the product saves a copy then.
  const uint32_t masked = pass.node("Add", {gelu, kNoNode}), mask = pass.node("Gelu", {masked});
  pass.made(20 * kMiB, masked, {mask, pass.node("Mm", {masked})});
  EXPECT_EQ(pass.gain(), 95u + 10u);
  EXPECT_EQ(pass.least(), 95u - 80u - 10u);
}

TEST(AutocastTypes, TheLeastIsWithoutAFusedKernel) {
  Pass pass;
  const uint32_t product = pass.node("Bmm", {pass.leaf()}), softmax = pass.node("SafeSoftmax", {product});
  for (int i = 0; i < 3; ++i) pass.made(100 * kMiB, product, {pass.node("Gelu", {product})});
  const uint64_t weights = pass.made(40 * kMiB, softmax, {pass.node("Bmm", {softmax})});
  pass.saved(weights, softmax, /*output=*/true);
  EXPECT_EQ(pass.gain(), 150u + 40u);
  EXPECT_EQ(pass.least(), 150u - 20u - 100u);
}

TEST(AutocastTypes, TheLeastIsWithACopyOfEachWeight) {
  Pass pass;
  const uint32_t product = pass.node("Mm", {pass.leaf()}), other = pass.node("Mm", {product});
  for (int i = 0; i < 3; ++i) pass.made(100 * kMiB, product, {other});
  const uint64_t weight = pass.parameter(20 * kMiB);
  EXPECT_EQ(pass.gain(), 150u);
  EXPECT_EQ(pass.least(), 150u - 100u - 10u);
  // The same line again: another pass, whose graph has copies of its own.
  for (int i = 0; i < 3; ++i) pass.saved(weight, pass.node("Mm", {pass.leaf()}));
  EXPECT_EQ(pass.gain(), 150u - 10u);
  EXPECT_EQ(pass.least(), 150u - 100u - 30u);
}

}  // namespace
}  // namespace tensorscope::analyzer::oom
