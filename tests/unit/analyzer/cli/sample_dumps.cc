// SPDX-License-Identifier: Apache-2.0
#include "sample_dumps.h"

#include "support/sample_values.h"

namespace tensorscope::testing {

namespace {

using format::Seen;
using format::TensorFlag;

constexpr int8_t kFloat32 = 6, kInt64 = 4, kBFloat16 = 15;
constexpr int8_t kCuda = 1, kMeta = 14;

uint32_t bits(std::initializer_list<TensorFlag> flags) {
  uint32_t result = 0;
  for (TensorFlag flag : flags) result |= uint32_t(flag);
  return result;
}

// Adds tensors with their memory, and keeps count of addresses.
class Program {
 public:
  explicit Program(DumpBuilder& builder) : builder_(builder) {}

  // A tensor with a block of its own. Returns its specification as it was written, serial included.
  TensorSpec make(TensorSpec spec, uint64_t age_s, uint64_t block_bytes = 0) {
    spec.created_ns = builder_.dump_ns - age_s * kSecond;
    int64_t numel = 1;
    for (int64_t size : spec.sizes) numel *= size;
    uint64_t nbytes = uint64_t(numel) * spec.itemsize;
    AllocationSpec block;
    block.pointer = next_address(block_bytes != 0 ? block_bytes : nbytes);
    block.nbytes = block_bytes != 0 ? block_bytes : nbytes;
    block.created_ns = spec.created_ns;
    block.site = spec.site;
    block.thread = spec.thread;
    block.device_type = spec.device_type;
    block.device_index = spec.device_index;
    builder_.allocation(block);
    spec.storage_base = block.pointer;
    spec.storage_nbytes = nbytes;
    return add(spec);
  }

  TensorSpec add(TensorSpec spec) {
    spec.serial = builder_.tensor(spec);
    spec.address = 0x7f0000000000 + spec.serial * 256;
    return spec;
  }

  uint64_t next_address(uint64_t bytes) {
    uint64_t result = address_;
    address_ += (bytes + 4095) / 4096 * 4096 + 4096;
    return result;
  }

 private:
  DumpBuilder& builder_;
  uint64_t address_ = 0x560000000000;
};

void add_coverage(DumpBuilder& builder) {
  builder.coverage("tensors", Seen::yes, "4 constructors, 3 destructors");
  builder.coverage("CPU memory", Seen::yes, "");
  builder.coverage("CUDA memory", Seen::not_applicable, "libc10_cuda is not loaded");
  builder.coverage("native stacks", Seen::no, "libunwind-x86_64.so.8 was not found");
  builder.coverage("Python stacks", Seen::yes, "CPython 3.11");
  builder.coverage("module paths", Seen::partly, "two modules were gone", 2);
}

TensorSpec spec_of(std::vector<int64_t> sizes, uint32_t site, uint32_t thread = 1) {
  TensorSpec spec;
  spec.sizes = std::move(sizes);
  spec.site = site;
  spec.thread = thread;
  return spec;
}

// One linear layer: weight and bias with gradients, and Adam's two moments of each.
void add_layer(DumpBuilder& builder, Program& program, int64_t width, uint32_t site, uint32_t backward, uint32_t adam,
               uint64_t age_s) {
  for (std::vector<int64_t> sizes : {std::vector<int64_t>{width, width}, std::vector<int64_t>{width}}) {
    TensorSpec gradient = spec_of(sizes, backward, 2);
    gradient.flags = bits({TensorFlag::leaf});
    gradient = program.make(gradient, age_s - 1);
    TensorSpec weight = spec_of(sizes, site);
    weight.flags = bits({TensorFlag::leaf, TensorFlag::requires_grad});
    weight.grad = gradient.address;
    program.make(weight, age_s);
    program.make(spec_of(sizes, adam), age_s - 1);
    program.make(spec_of(sizes, adam), age_s - 1);
  }
}

}  // namespace

void add_source_lines(DumpBuilder& builder, const std::string& directory) {
  builder.source_file({directory + "/train.py", {{57, "losses.append(criterion(out, y))"}, {73, "optimizer.step()"}}});
}

DumpBuilder training_dump(int minute, const std::string& directory) {
  DumpBuilder builder;
  builder.working_directory = directory;
  add_source_lines(builder, directory);
  builder.dump_number = uint32_t(minute);
  builder.dump_ns = builder.start_ns + uint64_t(minute) * 60 * kSecond;
  builder.rank = 0;
  builder.world_size = 8;
  builder.torch_version = "2.13.0+cpu";
  builder.options = {{"TENSORSCOPE_SIGNAL", "SIGUSR1"}, {"TENSORSCOPE_DIR", ""}};
  builder.tensors_total = uint64_t(minute) * 100'000;
  add_coverage(builder);
  uint32_t main_thread = builder.thread(4242, "python");
  builder.thread(4250, "pt_autograd_0");
  builder.module_name(0x1000, "model.layers.0", "Linear");
  builder.module_name(0x2000, "model.layers.1", "Linear");

  auto at = [&](std::vector<PythonFrameSpec> inner, int32_t main_line) {
    std::vector<PythonFrameSpec> frames = {{directory + "/train.py", "<module>", 95, true},
                                           {directory + "/train.py", "main", main_line}};
    frames.insert(frames.end(), inner.begin(), inner.end());
    return builder.site(0, builder.python(frames));
  };
  std::string torch = kTorch;
  uint32_t layer0 =
      at({{directory + "/model.py", "Net.__init__", 20}, {torch + "nn/modules/linear.py", "Linear.__init__", 106}}, 60);
  uint32_t layer1 =
      at({{directory + "/model.py", "Net.__init__", 21}, {torch + "nn/modules/linear.py", "Linear.__init__", 106}}, 60);
  uint32_t backward = at({{torch + "_tensor.py", "Tensor.backward", 648}}, 72);
  uint32_t adam =
      at({{torch + "optim/optimizer.py", "wrapper", 493}, {torch + "optim/adam.py", "Adam._init_group", 186}}, 73);
  uint32_t loss = at({{directory + "/train.py", "train_step", 57}}, 71);
  uint32_t forward0 = at({{torch + "nn/modules/module.py", "Module._wrapped_call_impl", 1775, false, 0x1000},
                          {directory + "/model.py", "Net.forward", 31}},
                         71);
  uint32_t forward1 = at({{torch + "nn/modules/module.py", "Module._wrapped_call_impl", 1775, false, 0x2000},
                          {directory + "/model.py", "Net.forward", 31}},
                         71);
  uint32_t batch = at({{directory + "/data.py", "next_batch", 12}}, 70);
  uint32_t view = at({{directory + "/train.py", "train_step", 52}}, 71);
  uint32_t numpy = at({{directory + "/data.py", "load", 5}}, 50);

  Program program(builder);
  uint64_t age = uint64_t(minute) * 60;
  add_layer(builder, program, 256, layer0, backward, adam, age - 2);
  add_layer(builder, program, 256, layer1, backward, adam, age - 2);
  TensorSpec array = spec_of({100, 64}, numpy);
  array.storage_base = 0x700000000000;
  array.created_ns = builder.start_ns + 3 * kSecond;
  program.add(array);
  TensorSpec meta = spec_of({4096, 4096}, layer0);
  meta.device_type = kMeta;
  meta.created_ns = builder.start_ns + 3 * kSecond;
  program.add(meta);
  TensorSpec sparse = spec_of({1000, 1000}, numpy);
  sparse.class_name = "N2at16SparseTensorImplE";
  sparse.layout = 1;
  sparse.known &= ~uint32_t(format::TensorKnown::strides) & ~uint32_t(format::TensorKnown::storage);
  sparse.note = "a sparse tensor has no storage of its own";
  sparse.created_ns = builder.start_ns + 3 * kSecond;
  program.add(sparse);
  AllocationSpec workspace;
  workspace.pointer = program.next_address(64 * kKiB);
  workspace.nbytes = 64 * kKiB;
  workspace.site = forward0;
  workspace.thread = main_thread;
  workspace.created_ns = builder.start_ns + 5 * kSecond;
  builder.allocation(workspace);

  // The leak: its serials are the same in each dump that has them.
  for (int i = 0; i < 32 * minute; ++i) {
    uint64_t made_s = 10 + uint64_t(i) * 60 / 32;
    TensorSpec kept = spec_of({128, 128}, loss);
    kept.flags = bits({TensorFlag::requires_grad});
    kept.grad_fn = 0x9000 + uint64_t(i) * 64;
    kept.grad_fn_name = "N5torch8autograd9generated16NllLossBackward0E";
    program.make(kept, age > made_s ? age - made_s : 0);
  }
  // This step's tensors have serials of their own in each dump; the batch's block has an unused end.
  while (builder.next_serial() < uint64_t(minute) * 1000) continue;
  TensorSpec saved0 = spec_of({32, 256}, forward0), saved1 = spec_of({32, 256}, forward1);
  program.make(saved0, 1);
  program.make(saved1, 1);

  TensorSpec inputs = spec_of({32, 64}, batch);
  inputs.dtype = kInt64;
  inputs.itemsize = 8;
  inputs = program.make(inputs, 1, 17 * kKiB);
  for (int64_t half : {0, 1}) {
    TensorSpec part = inputs;
    part.serial = 0;
    part.address = 0;
    part.sizes = {16, 64};
    part.site = view;
    part.storage_offset = half * 16 * 64;
    part.flags = bits({TensorFlag::leaf, TensorFlag::view});
    program.add(part);
  }
  AllocationSpec shared;
  shared.kind = format::AllocationKind::mapped;
  shared.pointer = 0x710000000000;
  shared.nbytes = 8 * kKiB;
  shared.site = batch;
  shared.created_ns = builder.dump_ns - 2 * kSecond;
  builder.allocation(shared);
  TensorSpec worker = spec_of({32, 64}, batch);
  worker.storage_base = shared.pointer;
  worker.created_ns = shared.created_ns;
  program.add(worker);
  return builder;
}

DumpBuilder other_run_dump() {
  DumpBuilder builder;
  builder.pid = 5555;
  builder.run_id = "run-2";
  builder.trigger = format::Trigger::exit;
  builder.trigger_detail = "exit status 0";
  builder.torch_version = "2.12.0";
  add_coverage(builder);
  builder.thread(5555, "python");
  uint32_t loss = builder.site(0, builder.python({{"/home/user/train.py", "<module>", 95, true},
                                                  {"/home/user/train.py", "main", 71},
                                                  {"/home/user/train.py", "train_step", 57}}));
  uint32_t batch = builder.site(0, builder.python({{"/home/user/train.py", "<module>", 95, true},
                                                   {"/home/user/train.py", "main", 70},
                                                   {"/home/user/data.py", "next_batch", 12}}));
  Program program(builder);
  for (int i = 0; i < 40; ++i) program.make(spec_of({128, 128}, loss), 30);
  TensorSpec inputs = spec_of({32, 64}, batch);
  inputs.dtype = kBFloat16;
  inputs.itemsize = 2;
  program.make(inputs, 1);
  return builder;
}

DumpBuilder native_dump() {
  DumpBuilder builder;
  builder.program = "server";
  builder.executable = "/opt/server/bin/server";
  builder.command_line = {"/opt/server/bin/server", "--port", "80"};
  builder.working_directory = "/";
  builder.python_version = "";
  builder.run_id = "run-3";
  builder.trigger = format::Trigger::call;
  builder.trigger_detail = "";
  builder.coverage("tensors", Seen::yes, "");
  builder.coverage("CUDA memory", Seen::yes, "");
  builder.coverage("Python stacks", Seen::not_applicable, "no interpreter in this process");
  builder.thread(4242, "server");
  builder.thread(4243, "worker");
  SharedObjectSpec program_file{"/opt/server/bin/server", 0x400000, 0x400000, 0x500000, {0xab, 0xcd}};
  SharedObjectSpec library{
      "/opt/libtorch/lib/libtorch_cpu.so", 0x7f1000000000, 0x7f1000000000, 0x7f1010000000, {0x12, 0x34}};
  builder.shared_object(program_file);
  builder.shared_object(library);
  uint32_t outer = builder.native({0x401000, 0x401234});
  uint32_t weights = builder.site(builder.native({0x7f1000001000}, outer), 0);
  uint32_t handler = builder.site(builder.native({0x7f1000002000}, builder.native({0x401000, 0x405678})), 0);
  Program program(builder);
  TensorSpec weight = spec_of({1024, 1024}, weights);
  weight.device_type = kCuda;
  weight.device_index = 0;
  program.make(weight, 50, 4 * kMiB + 512);
  TensorSpec request = spec_of({8, 1024}, handler, 2);
  request.device_type = kCuda;
  request.device_index = 0;
  request.grad_fn = 0x5000;
  request.grad_fn_name = "N5torch8autograd9generated14AddmmBackward0E";
  request.flags = bits({TensorFlag::requires_grad});
  builder.node(0x5000, "N5torch8autograd9generated14AddmmBackward0E", weights);
  program.make(request, 2);
  builder.device_total(format::DeviceTotal(4 * kMiB + 512 + 32 * kKiB, 6 * kMiB, 2, 10, 20 * kMiB,
                                           4 * kMiB + 512 + 32 * kKiB, 20 * kMiB, 24 * kMiB, kCuda, 0));
  return builder;
}

DumpBuilder hostile_dump() {
  const std::string evil = "x\033]0;owned\007\033[2J\ny\r\u202ez\x9b\xff";
  DumpBuilder builder;
  builder.program = builder.executable = builder.working_directory = builder.host = builder.run_id = evil;
  builder.torch_version = builder.python_version = builder.trigger_detail = evil;
  builder.command_line = {evil, evil};
  builder.options = {{evil, evil}};
  builder.coverage(evil, Seen::partly, evil, 1);
  builder.thread(1, evil);
  builder.shared_object({"/lib/" + evil, 0x1000, 0x1000, 0x2000, {1}});
  builder.module_name(0x1000, evil, evil);
  uint32_t site = builder.site(builder.native({0x1100}), builder.python({{"/" + evil + ".py", evil, 3, true, 0x1000}}));
  builder.source_file({"/" + evil + ".py", {{3, "x\033]0;owned\007\033[2J\ry\u202ez\x9b\xff"}}});
  builder.source_file({evil, {}, format::SourceState::changed});
  Program program(builder);
  TensorSpec spec = spec_of({4}, site);
  spec.class_name = spec.grad_fn_name = spec.note = evil;
  program.make(spec, 1);
  return builder;
}

}  // namespace tensorscope::testing
