// SPDX-License-Identifier: Apache-2.0
#include "sample_graphs.h"

#include "support/sample_values.h"

namespace tensorscope::testing {

namespace {

using format::GraphNodeFlag;
using format::ReferenceRole;
using format::ReferenceRoot;
using format::SlotState;
using format::TensorFlag;

constexpr uint32_t kRequiresGrad = uint32_t(TensorFlag::requires_grad);
constexpr uint32_t kLeaf = uint32_t(TensorFlag::leaf);

// Writes a graph as a forward pass would make it: nodes with sequence numbers, tensors that came out of them.
class Forward {
 public:
  explicit Forward(DumpBuilder& builder) : builder_(builder) {}

  uint32_t site(const std::string& file, const std::string& function, int line, uint64_t module = 0) {
    std::vector<PythonFrameSpec> frames{{"/home/user/train.py", "<module>", 40, true}};
    if (module != 0) {
      frames.push_back({"/usr/lib/python3.11/site-packages/torch/nn/modules/module.py", "Module._wrapped_call_impl",
                        1775, false, module});
    }
    frames.push_back({file, function, line});
    return builder_.site(0, builder_.python(frames));
  }

  uint64_t tensor(std::vector<int64_t> sizes, uint32_t site = 0, uint32_t flags = kLeaf, int64_t grad_node = -1) {
    TensorSpec spec;
    spec.sizes = std::move(sizes);
    spec.site = site;
    spec.flags = flags;
    spec.storage_base = next_address_ += 0x100000;
    if (grad_node >= 0) {
      spec.flags = kRequiresGrad;
      spec.grad_fn = builder_.graph_address(uint32_t(grad_node));
      spec.grad_fn_name = mangled(class_names_[size_t(grad_node)]);
    }
    return builder_.tensor(spec);
  }
  uint64_t alias(uint64_t of, std::vector<int64_t> sizes, int64_t grad_node = -1, bool view = false) {
    TensorSpec spec;
    spec.sizes = std::move(sizes);
    spec.storage_base = bases_.at(of);
    spec.storage_nbytes = sizes_.at(of);
    spec.flags = view ? uint32_t(TensorFlag::view) : kLeaf;
    if (grad_node >= 0) {
      spec.flags |= kRequiresGrad;
      spec.grad_fn = builder_.graph_address(uint32_t(grad_node));
      spec.grad_fn_name = mangled(class_names_[size_t(grad_node)]);
    }
    return builder_.tensor(spec);
  }
  // A tensor whose storage may get aliases.
  uint64_t shared(std::vector<int64_t> sizes, uint32_t site, uint32_t flags = kLeaf, int64_t grad_node = -1) {
    uint64_t bytes = 4;
    for (int64_t size : sizes) bytes *= uint64_t(size);
    const uint64_t serial = tensor(std::move(sizes), site, flags, grad_node);
    bases_[serial] = next_address_;
    sizes_[serial] = bytes;
    return serial;
  }

  uint64_t parameter(const std::string& path, std::vector<int64_t> sizes, uint32_t site) {
    const uint64_t serial = shared(std::move(sizes), site, kLeaf | kRequiresGrad);
    reference(serial, path, "", ReferenceRoot::global, ReferenceRole::parameter);
    return serial;
  }
  uint32_t accumulator(uint64_t leaf) {
    class_names_.push_back("AccumulateGrad");
    GraphNodeSpec node;
    node.class_name = "N5torch8autograd14AccumulateGradE";
    node.sequence = UINT64_MAX;
    node.flags = uint8_t(GraphNodeFlag::accumulates);
    node.saved.push_back({leaf});
    return builder_.graph_node(node);
  }
  uint32_t node(const std::string& class_name, uint32_t site, const std::vector<uint32_t>& inputs,
                std::vector<SavedSpec> saved = {}) {
    class_names_.push_back(class_name);
    GraphNodeSpec node;
    node.class_name = mangled(class_name);
    node.address = 0x600000000000 + class_names_.size() * 128;
    node.serial = builder_.node(node.address, node.class_name, site);
    node.sequence = ++sequence_;
    for (uint32_t input : inputs) node.edges.emplace_back(input, 0);
    for (uint16_t i = 0; i < saved.size(); ++i) saved[i].ordinal = i;
    node.saved = std::move(saved);
    return builder_.graph_node(node);
  }
  void reference(uint64_t tensor, const std::string& text, const std::string& scope,
                 ReferenceRoot root = ReferenceRoot::global, ReferenceRole role = ReferenceRole::plain) {
    ReferenceSpec spec;
    spec.tensor = tensor;
    spec.text = text;
    spec.scope = scope;
    spec.root = root;
    spec.role = role;
    builder_.reference(spec);
    TensorObjectSpec object;
    object.tensor = tensor;
    object.references = 1;
    builder_.tensor_object(object);
  }

 private:
  DumpBuilder& builder_;
  std::vector<std::string> class_names_;
  std::map<uint64_t, uint64_t> bases_, sizes_;
  uint64_t next_address_ = 0x500000000000, sequence_ = 0;
};

SavedSpec slot(uint64_t tensor, bool output = false) {
  SavedSpec saved;
  saved.tensor = tensor;
  saved.output = output;
  return saved;
}
SavedSpec slot_in(SlotState state) {
  SavedSpec saved;
  saved.state = state;
  return saved;
}

}  // namespace

DumpBuilder graph_dump() {
  DumpBuilder builder;
  builder.module_name(0x1000, "model.fc1", "Linear");
  builder.module_name(0x2000, "model.norm", "LayerNorm");
  builder.module_name(0x3000, "model.fc2", "Linear");
  builder.slot_name(mangled("AddmmBackward0"), 0, "mat1");
  builder.slot_name(mangled("AddmmBackward0"), 1, "mat2");
  builder.slot_name(mangled("ReluBackward0"), 0, "result");
  builder.slot_name(mangled("MulBackward0"), 0, "self");
  builder.slot_name(mangled("MulBackward0"), 1, "other");
  Forward forward(builder);
  const uint32_t init = forward.site("/home/user/model.py", "Net.__init__", 7);
  const uint32_t fc1 = forward.site("/home/user/model.py", "Net.forward", 21, 0x1000);
  const uint32_t act = forward.site("/home/user/model.py", "Net.forward", 21);
  const uint32_t norm = forward.site("/home/user/model.py", "Net.forward", 22, 0x2000);
  const uint32_t fc2 = forward.site("/home/user/model.py", "Net.forward", 23, 0x3000);
  const uint32_t step = forward.site("/home/user/train.py", "step", 12);
  const uint32_t square = forward.site("/home/user/train.py", "<module>", 30);

  const uint64_t w1 = forward.parameter("model.fc1.weight", {256, 64}, init);
  const uint64_t b1 = forward.parameter("model.fc1.bias", {256}, init);
  const uint64_t gain = forward.parameter("model.norm.weight", {256}, init);
  const uint64_t w2 = forward.parameter("model.fc2.weight", {8, 256}, init);
  const uint32_t aw1 = forward.accumulator(w1), ab1 = forward.accumulator(b1), again = forward.accumulator(gain),
                 aw2 = forward.accumulator(w2);
  const uint64_t batch = forward.tensor({32, 64}, step);
  forward.reference(batch, "x", "train.py");
  forward.reference(forward.tensor({4}, square), "x", "data.py");

  for (int pass = 0; pass < 3; ++pass) {
    const bool freed = pass == 2;
    auto saved = [&](uint64_t tensor, bool output = false) {
      return freed ? slot_in(SlotState::empty) : slot(tensor, output);
    };
    const uint32_t t1 = forward.node("TBackward0", fc1, {aw1});
    const uint32_t mm1 = forward.node("AddmmBackward0", fc1, {ab1, t1}, {saved(batch)});
    const uint32_t relu_site = act;
    uint64_t kept = 0;
    if (!freed) kept = forward.tensor({32, 256}, relu_site);
    const uint32_t relu = forward.node("ReluBackward0", relu_site, {mm1}, {saved(kept, true)});
    if (!freed) kept = forward.tensor({32, 1}, norm);
    const uint32_t layer_norm =
        forward.node("NativeLayerNormBackward0", norm, {relu, again}, {saved(kept), saved(gain)});
    const uint64_t hidden = freed ? 0 : forward.tensor({32, 256}, norm, 0, layer_norm);
    const uint32_t t2 = forward.node("TBackward0", fc2, {aw2});
    const uint32_t mm2 = forward.node("MmBackward0", fc2, {layer_norm, t2}, {saved(hidden), saved(w2)});
    const uint32_t mean = forward.node("MeanBackward0", step, {mm2});
    const uint64_t loss = forward.tensor({}, step, 0, mean);
    forward.reference(loss, freed ? "done" : "losses[" + std::to_string(pass) + "]", "train.py");
  }

  const uint64_t w = forward.shared({4}, square, kLeaf | kRequiresGrad);
  forward.reference(w, "w", "train.py");
  const uint32_t aw = forward.accumulator(w);
  const uint32_t mul = forward.node("MulBackward0", square, {aw, aw}, {slot(w), slot(w)});
  const uint64_t sq = forward.shared({4}, square, 0, mul);
  forward.reference(sq, "sq", "train.py");
  const uint32_t slice = forward.node("SliceBackward0", square, {mul});
  forward.reference(forward.alias(sq, {2}, slice, true), "view", "train.py");
  uint32_t doubled = aw;
  for (int i = 0; i < 64; ++i) doubled = forward.node("AddBackward0", square, {doubled, doubled});
  forward.reference(forward.tensor({4}, square, 0, doubled), "c", "step", ReferenceRoot::local);
  const uint32_t packed = forward.node("ExpBackward0", square, {aw}, {slot_in(SlotState::packed)});
  builder.node_reference(packed, "fn", "train.py");
  return builder;
}

DumpBuilder deep_graph_dump(int layers) {
  DumpBuilder builder;
  Forward forward(builder);
  const uint32_t init = forward.site("/home/user/model.py", "Block.__init__", 7);
  const uint32_t step = forward.site("/home/user/train.py", "step", 12);
  uint64_t object = 0x10000;
  auto module = [&](const std::string& path) {
    object += 0x100;
    builder.module_name(object, path, "Module");
    return forward.site("/home/user/model.py", "Block.forward", 21, object);
  };
  const uint64_t embedding = forward.parameter("model.embed.weight", {100, 32}, init);
  uint32_t x = forward.node("EmbeddingBackward0", module("model.embed"), {forward.accumulator(embedding)});
  for (int i = 0; i < layers; ++i) {
    const std::string path = "model.layers." + std::to_string(i);
    const uint32_t layer = module(path), attention = module(path + ".attn"), mlp = module(path + ".mlp");
    auto linear = [&](const std::string& name, uint32_t site, uint32_t input) {
      const uint64_t weight = forward.parameter(name + ".weight", {32, 32}, init);
      const uint32_t transposed = forward.node("TBackward0", site, {forward.accumulator(weight)});
      return forward.node("MmBackward0", site, {input, transposed},
                          {slot(forward.tensor({4, 32}, site)), slot(weight)});
    };
    const uint32_t attended = linear(path + ".attn", attention, x);
    x = forward.node("AddBackward0", layer, {x, attended});
    uint32_t hidden = linear(path + ".mlp", mlp, x);
    hidden = forward.node("GeluBackward0", mlp, {hidden}, {slot(forward.tensor({4, 128}, mlp))});
    x = forward.node("AddBackward0", layer, {x, hidden});
  }
  const uint32_t sum = forward.node("SumBackward0", step, {x});
  forward.reference(forward.tensor({}, step, 0, sum), "loss", "train.py");
  return builder;
}

DumpBuilder native_graph_dump() {
  DumpBuilder builder;
  builder.program = "server";
  builder.executable = "/opt/server/bin/server";
  builder.working_directory = "/";
  builder.python_version = "";
  builder.shared_object({"/opt/server/bin/server", 0x400000, 0x400000, 0x500000, {0xab, 0xcd}});
  Forward forward(builder);
  const uint32_t place = builder.site(builder.native({0x401000, 0x401234}), 0);
  const uint64_t weight = forward.shared({64, 64}, place, kLeaf | kRequiresGrad);
  const uint32_t leaf = forward.accumulator(weight);
  const uint64_t input = forward.tensor({8, 64}, place);
  const uint32_t mm = forward.node("MmBackward0", place, {leaf}, {slot(input)});
  const uint32_t sum = forward.node("SumBackward0", place, {mm});
  forward.tensor({}, place, 0, sum);
  return builder;
}

}  // namespace tensorscope::testing
