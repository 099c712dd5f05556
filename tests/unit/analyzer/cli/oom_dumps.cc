// SPDX-License-Identifier: Apache-2.0
#include "oom_dumps.h"

#include <algorithm>

#include "sample_dumps.h"
#include "support/sample_values.h"

namespace tensorscope::testing {

namespace {

using format::BlockState;
using format::ReferenceRole;
using format::ReferenceRoot;

class GpuProgram {
 public:
  GpuProgram(int step, const std::string& directory, bool failed) : directory_(directory) {
    builder_.working_directory = directory;
    add_source_lines(builder_, directory);
    builder_.run_id = "run-gpu";
    builder_.torch_version = "2.14.1+cu130";
    builder_.dump_number = uint32_t(step);
    builder_.dump_ns = builder_.start_ns + uint64_t(step) * 60 * kSecond;
    builder_.has_graph = builder_.has_references = true;
    if (failed) {
      builder_.trigger = format::Trigger::out_of_memory;
      builder_.trigger_detail = "cuda:0";
    }
    for (const char* subject : {"tensors", "CUDA memory", "names"}) builder_.coverage(subject, format::Seen::yes, "");
    thread_ = builder_.thread(4242, "python");
    builder_.shared_object({"/usr/lib/libnccl.so.2", 0x7100000000, 0x7100000000, 0x7100100000, {}});
    builder_.shared_object({"/usr/lib/libtorch_cuda.so", 0x7200000000, 0x7200000000, 0x7200100000, {}});
    main_ = builder_.python({{file("train.py"), "main", 71, true}});
    memory_.name = "Double";
    memory_.looked_ns = builder_.dump_ns + 1'000'000;
    model();
    for (int i = 0; i < step; ++i) loss(i);
    rest();
    if (failed) failure();
    finish();
  }

  DumpBuilder builder_;

 private:
  std::string file(const std::string& name) const { return directory_ + "/" + name; }

  // The stack inside a module's forward.
  uint32_t call(const std::string& name, uint32_t outer, const std::string& function, int line) {
    const uint64_t object = 0x1000 * ++modules_;
    builder_.module_name(object, name, function);
    return builder_.python({{kTorch + "nn/modules/module.py", "Module._wrapped_call_impl", 1775, false, object},
                            {file("model.py"), function + ".forward", line}},
                           outer);
  }

  void segment(uint64_t pool = 0, uint8_t flags = 0) {
    SegmentSpec& spec = memory_.segments.emplace_back();
    spec.address = 0x700000000000 + memory_.segments.size() * 0x1000000000;
    spec.pool = pool;
    spec.flags = flags;
  }
  uint64_t piece(uint64_t bytes, BlockState state = BlockState::free) {
    SegmentSpec& spec = memory_.segments.back();
    const uint64_t address = spec.address + spec.size;
    spec.blocks.emplace_back(address, bytes, 0, state);
    spec.size += bytes;
    return address;
  }
  uint64_t block(uint64_t bytes, uint32_t site) {
    AllocationSpec row;
    row.pointer = piece(bytes, BlockState::allocated);
    row.nbytes = bytes;
    row.site = site;
    row.thread = thread_;
    row.created_ns = builder_.start_ns + kSecond;
    row.kind = format::AllocationKind::caching;
    row.device_type = 1;
    row.device_index = 0;
    builder_.allocation(row);
    allocated_ += bytes;
    return row.pointer;
  }
  uint64_t tensor(uint64_t bytes, uint32_t site, TensorSpec spec = {}, uint64_t rounding = 0) {
    spec.storage_base = block(bytes + rounding, site);
    spec.sizes = {int64_t(bytes / 4)};
    spec.device_type = 1;
    spec.device_index = 0;
    spec.site = site;
    spec.thread = thread_;
    spec.created_ns = builder_.start_ns + kSecond;
    return builder_.tensor(spec);
  }
  void named(uint64_t serial, const std::string& text, ReferenceRole role) {
    builder_.reference({serial, text, "train.py", "dict", ReferenceRoot::global, role, 4});
    builder_.tensor_object({serial, role == ReferenceRole::parameter ? "Parameter" : "Tensor", 1,
                            format::WrapperState::referenced, false, role == ReferenceRole::parameter});
  }
  uint32_t operation(const std::string& name, uint32_t site, uint32_t input) {
    GraphNodeSpec node;
    node.class_name = "N5torch8autograd9generated" + std::to_string(name.size()) + name + "E";
    node.address = 0xabc000000 + 0x100 * ++nodes_;
    last_serial_ = node.serial = builder_.node(node.address, node.class_name, site);
    const uint32_t number = builder_.graph_node(node);
    if (input != UINT32_MAX) builder_.edge(number, input);
    return number;
  }

  void model() {
    const uint32_t init = builder_.site(0, builder_.python({{file("model.py"), "Block.__init__", 20}}, main_));
    const uint32_t adam =
        builder_.site(0, builder_.python({{kTorch + "optim/adam.py", "Adam._init_group", 186}}, main_));
    const uint32_t net = call("model", main_, "Net", 31);
    segment();
    for (int i = 0; i < 4; ++i) {
      const std::string layer = "model.layers." + std::to_string(i);
      const uint32_t outer = call(layer, net, "Block", 131);
      attention_ = builder_.site(builder_.native({0x7200000500}), call(layer + ".attn", outer, "Attention", 88));
      const uint32_t mlp = builder_.site(0, call(layer + ".mlp", outer, "Mlp", 40));
      named(tensor(256 * kMiB, init), layer + ".weight", ReferenceRole::parameter);
      for (const char* moment : {"exp_avg", "exp_avg_sq"}) {
        named(tensor(256 * kMiB, adam), "Adam.state['layers." + std::to_string(i) + ".weight']." + moment,
              ReferenceRole::optimizer_state);
      }
      last_ = operation("SoftmaxBackward0", attention_, last_);
      builder_.saved(last_, {tensor(1024 * kMiB, attention_), 0, -1, format::SlotState::held, true});
      last_ = operation("GeluBackward0", mlp, last_);
      builder_.saved(last_, {tensor(512 * kMiB, mlp), 0});
    }
    builder_.slot_name("SoftmaxBackward0", 0, "result");
    builder_.slot_name("GeluBackward0", 0, "self");
  }

  void loss(int step) {
    const uint32_t site = builder_.site(0, builder_.python({{file("train.py"), "train_step", 57}}, main_));
    const uint32_t node = operation("NllLossBackward0", site, UINT32_MAX);
    builder_.saved(node, {tensor(128 * kMiB, site), 0});
    TensorSpec spec;
    spec.grad_fn = builder_.graph_address(node);
    spec.grad_fn_name = "N5torch8autograd9generated16NllLossBackward0E";
    spec.flags = uint32_t(format::TensorFlag::requires_grad);
    const uint64_t serial = tensor(4, site, spec, 508);
    builder_.reference({serial, "losses[" + std::to_string(step) + "]", "train.py", "list"});
    builder_.tensor_object({serial, "Tensor", 1});
  }

  void rest() {
    const uint32_t evaluate = builder_.site(0, builder_.python({{file("train.py"), "evaluate", 44}}, main_));
    const uint64_t garbage = tensor(300 * kMiB, evaluate);
    builder_.reference({garbage, "self.predictions[0]", "Evaluator, dict, list", "list", ReferenceRoot::cycle});
    builder_.tensor_object({garbage, "Tensor", 1, format::WrapperState::garbage});
    block(8 * kMiB, builder_.site(builder_.native({0x7200000100}), main_));
    for (uint64_t free : {180, 200, 220}) {
      piece(free * kMiB);
      block(2 * kMiB, builder_.site(builder_.native({0x7200000100}), main_));
    }
    segment(3);
    piece(64 * kMiB);
    segment(0, uint8_t(format::SegmentFlag::small));
    block(512, evaluate);
    piece(2 * kMiB - 512);
    RuntimeBlockSpec nccl;
    nccl.pointer = 0x7f0000000000;
    nccl.nbytes = 512 * kMiB;
    nccl.site = builder_.site(builder_.native({0x7100000100}), main_);
    builder_.runtime_block(nccl);
  }

  void failure() {
    FailureSpec spec;
    spec.requested = 1024 * kMiB;
    spec.site = attention_;
    spec.thread = thread_;
    spec.node = last_serial_;
    spec.failures = 3;
    spec.without_dump = 1;
    builder_.failure(spec);
  }

  void finish() {
    uint64_t reserved = 0;
    for (const SegmentSpec& spec : memory_.segments) reserved += spec.size;
    builder_.device_total(
        format::DeviceTotal(allocated_, allocated_, 1, 1, allocated_, allocated_, reserved, reserved, 1, 0));
    memory_.driver_total = 16'384 * kMiB;
    memory_.driver_free = 433 * kMiB;
    memory_.own_bytes = reserved + 512 * kMiB + 460 * kMiB;
    const uint64_t driver = 200 * kMiB;
    memory_.processes = {{991, memory_.driver_total - memory_.driver_free - memory_.own_bytes - driver}};
    builder_.device_memory(memory_);
  }

  std::string directory_;
  DeviceMemorySpec memory_;
  uint32_t thread_ = 0, main_ = 0, attention_ = 0, last_ = UINT32_MAX;
  uint64_t allocated_ = 0, modules_ = 0, nodes_ = 0, last_serial_ = 0;
};

}  // namespace

DumpBuilder gpu_dump(int step, const std::string& directory, bool failed) {
  return GpuProgram(step, directory, failed).builder_;
}

}  // namespace tensorscope::testing
