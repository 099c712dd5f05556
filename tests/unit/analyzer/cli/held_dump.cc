// SPDX-License-Identifier: Apache-2.0
// A synthetic dump with both phases: a small transformer in training that keeps its losses, with names, references and
// the autograd graph.
#include <map>

#include "sample_dumps.h"
#include "support/sample_values.h"

namespace tensorscope::testing {

namespace {

using format::ReferenceRole;
using format::ReferenceRoot;
using format::TensorFlag;

constexpr int kLayers = 3;

class Trainer {
 public:
  Trainer(int steps, const std::string& directory) : directory_(directory) {
    builder_.working_directory = directory;
    add_source_lines(builder_, directory);
    builder_.run_id = "run-held";
    builder_.dump_number = uint32_t(steps);
    builder_.dump_ns = builder_.start_ns + uint64_t(steps) * 10 * kSecond;
    builder_.torch_version = "2.13.0+cpu";
    builder_.has_graph = builder_.has_references = true;
    builder_.coverage("tensors", format::Seen::yes, "");
    builder_.coverage("CPU memory", format::Seen::yes, "");
    builder_.coverage("names", format::Seen::yes, "");
    builder_.coverage("module paths", format::Seen::yes, "");
    builder_.thread(4242, "python");
    main_ = builder_.python({{file("train.py"), "<module>", 95, true}, {file("train.py"), "main", 71}});
    build_model();
    for (int step = 0; step < steps; step++) train(step);
    add_rest();
  }

  DumpBuilder builder_;

 private:
  std::string file(const std::string& name) const { return directory_ + "/" + name; }
  uint32_t site(std::vector<PythonFrameSpec> inner, uint32_t below) {
    return builder_.site(0, builder_.python(inner, below));
  }

  uint64_t make(std::vector<int64_t> sizes, uint32_t at, TensorSpec spec = {}) {
    AllocationSpec block;
    int64_t count = 1;
    for (int64_t size : sizes) count *= size;
    block.pointer = spec.storage_base = address_;
    block.nbytes = uint64_t(count) * 4;
    block.created_ns = spec.created_ns = clock_;
    block.site = spec.site = at;
    block.thread = spec.thread = 1;
    address_ += block.nbytes + 4096;
    builder_.allocation(block);
    spec.sizes = std::move(sizes);
    return builder_.tensor(spec);
  }

  void path(uint64_t tensor, const std::string& text, ReferenceRole role) {
    builder_.reference({tensor, text, "train.py", "dict", ReferenceRoot::global, role, 4});
    builder_.tensor_object({tensor, role == ReferenceRole::parameter ? "Parameter" : "Tensor", 1,
                            format::WrapperState::referenced, false, role == ReferenceRole::parameter});
  }

  void module(const std::string& name, const std::string& type) {
    modules_[name] = 0x1000 * (modules_.size() + 1);
    builder_.module_name(modules_[name], name, type);
  }

  void parameter(const std::string& owner, const std::string& name, std::vector<int64_t> sizes) {
    const uint32_t init = site({{file("model.py"), "Net.__init__", 20}}, main_);
    const uint32_t adam = site({{kTorch + "optim/adam.py", "Adam._init_group", 186}}, main_);
    TensorSpec gradient;
    gradient.address = 0xdead0000 + 0x100 * ++gradients_;
    TensorSpec weight;
    weight.flags = uint32_t(TensorFlag::leaf) | uint32_t(TensorFlag::requires_grad);
    weight.grad = gradient.address;
    path(make(sizes, init, weight), owner + "." + name, ReferenceRole::parameter);
    make(sizes, site({{kTorch + "_tensor.py", "Tensor.backward", 648}}, main_), gradient);
    const std::string inner = (owner + "." + name).substr(owner.find('.') + 1);
    for (const char* moment : {"exp_avg", "exp_avg_sq"}) {
      path(make(sizes, adam), "Adam.state['" + inner + "']." + moment, ReferenceRole::optimizer_state);
    }
  }

  void build_model() {
    module("model", "Net");
    module("model.wte", "Embedding");
    parameter("model.wte", "weight", {512, 64});
    module("model.layers", "ModuleList");
    for (int i = 0; i < kLayers; i++) {
      const std::string layer = "model.layers." + std::to_string(i);
      module(layer, "Block");
      for (const char* part : {".attn", ".mlp"}) {
        module(layer + part, part == std::string(".attn") ? "Attention" : "Mlp");
        parameter(layer + part, "weight", {64, 256});
      }
      path(make({128, 128}, 0), layer + ".attn.mask", ReferenceRole::buffer);
    }
    module("model.head", "Linear");
    parameter("model.head", "weight", {512, 64});
  }

  // The stack inside the forward of a module, called from `outer`.
  uint32_t call(const std::string& name, uint32_t outer, const std::string& function, int line) {
    auto [found, fresh] = calls_.try_emplace(name);
    if (fresh) {
      const PythonFrameSpec wrapper{kTorch + "nn/modules/module.py", "Module._wrapped_call_impl", 1775, false,
                                    modules_.at(name)};
      found->second = builder_.python({wrapper, {file("model.py"), function, line}}, outer);
    }
    return found->second;
  }

  uint32_t site_in(uint32_t stack) {
    auto [found, fresh] = sites_.try_emplace(stack);
    if (fresh) found->second = builder_.site(0, stack);
    return found->second;
  }

  uint32_t operation(const std::string& name, uint32_t at, uint32_t input) {
    GraphNodeSpec node{mangled(name)};
    node.address = 0xabc000000 + 0x100 * ++nodes_;
    node.serial = builder_.node(node.address, node.class_name, at);
    const uint32_t number = builder_.graph_node(node);
    if (input != UINT32_MAX) builder_.edge(number, input);
    return number;
  }

  void train(int step) {
    clock_ = builder_.start_ns + uint64_t(step) * 10 * kSecond;
    const uint32_t net = call("model", main_, "Net.forward", 31);
    uint32_t last = operation("EmbeddingBackward0", site_in(call("model.wte", net, "forward", 5)), UINT32_MAX);
    for (int i = 0; i < kLayers; i++) {
      const std::string layer = "model.layers." + std::to_string(i);
      const uint32_t block = call(layer, net, "Block.forward", 131);
      const uint32_t attention = site_in(call(layer + ".attn", block, "Attention.forward", 88));
      const uint32_t mlp = site_in(call(layer + ".mlp", block, "Mlp.forward", 40));
      last = operation("SoftmaxBackward0", attention, last);
      builder_.saved(last, {make({4, 128, 128}, attention), 0, -1, format::SlotState::held, true});
      last = operation("GeluBackward0", mlp, last);
      builder_.saved(last, {make({128, 256}, mlp), 0});
    }
    last = operation("NllLossBackward0", loss_site(), last);
    TensorSpec loss;
    loss.grad_fn = builder_.graph_address(last);
    loss.grad_fn_name = mangled("NllLossBackward0");
    loss.flags = uint32_t(TensorFlag::requires_grad);
    const uint64_t tensor = make({}, loss_site(), loss);
    builder_.reference({tensor, "history[" + std::to_string(step) + "]", "train.py", "list"});
    builder_.tensor_object({tensor, "Tensor", 1});
  }

  uint32_t loss_site() {
    if (loss_ == 0) loss_ = site({{file("train.py"), "train_step", 57}}, main_);
    return loss_;
  }

  void add_rest() {
    clock_ = builder_.dump_ns - kSecond;
    builder_.slot_name("SoftmaxBackward0", 0, "result");
    builder_.slot_name("GeluBackward0", 0, "self");
    const uint64_t batch = make({4, 128}, site({{kTorch + "utils/data/_utils/collate.py", "collate", 7}}, main_));
    builder_.reference({batch, "x", "main", "", ReferenceRoot::local});
    const uint64_t cached = make({128, 64}, site({{file("model.py"), "rope", 12}}, main_));
    builder_.reference({cached, "Attention.tables[128]", "model", "dict", ReferenceRoot::class_});
    const uint64_t garbage = make({64, 64}, site({{file("train.py"), "evaluate", 44}}, main_));
    builder_.reference({garbage, "self.predictions[0]", "Evaluator, dict, list", "list", ReferenceRoot::cycle});
    builder_.tensor_object({garbage, "Tensor", 1, format::WrapperState::garbage});
    const uint64_t caught = make({32, 64}, site({{file("train.py"), "evaluate", 47}}, main_));
    builder_.reference({caught, "logits", "ValueError in evaluate", "", ReferenceRoot::traceback});
    make({16, 64}, site({{file("train.py"), "train_step", 60}}, main_));
  }

  std::string directory_;
  uint32_t main_ = 0, loss_ = 0;
  uint64_t address_ = 0x560000000000, clock_ = 2 * kSecond, gradients_ = 0, nodes_ = 0;
  std::map<std::string, uint64_t> modules_;
  std::map<std::string, uint32_t> calls_;
  std::map<uint32_t, uint32_t> sites_;
};

}  // namespace

DumpBuilder held_dump(int steps, const std::string& directory) { return Trainer(steps, directory).builder_; }

}  // namespace tensorscope::testing
