// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/earlier_tensors.h"

#include <vector>

#include "live/preexisting_tensors.h"
#include "python/heap_inspector/foreign/allocator_snapshot.h"
#include "python/heap_inspector/graph/look_limits.h"
#include "python/heap_inspector/graph/object_graph.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/heap_inspector/naming/main_script.h"
#include "python/heap_inspector/rows/tensor_objects.h"
#include "support/loaded_object.h"
#include "support/page_array.h"
#include "torch/metadata/metadata.h"
#include "torch/metadata/safe_reads.h"

namespace tensorscope::python::heap_inspector {

namespace {

constexpr int8_t kCpu = 0, kCuda = 1;  // c10::DeviceType

using live::AllocationKind;
using torch::word_at;

const void* pointer(uint64_t word) { return reinterpret_cast<const void*>(word); }

// Memory of storages that c10's CPU allocator allocated. There the context is the memory itself, and libc10 frees it;
// what numpy or a file lends has another context (c10/core/CPUAllocator.cpp, c10/core/Allocator.cpp).
class EarlierStorages {
 public:
  EarlierStorages() : c10_(find_object("libc10.so")) {}

  bool start(const PageArray<const void*>& tensors) {
    if (!c10_ || !objects_.refresh() || !reader_.start(&objects_)) return false;
    torch::LayoutFinder finder(reader_.torch(), reader_.classes());
    for (const void* impl : tensors) finder.add(impl);
    return bool(finder.result(layout_));
  }

  void add_memory_of(const void* impl) {
    torch::TensorFields fields;
    if (!torch::read_fields(layout_, impl, fields)) return;
    on_devices_ = on_devices_ || fields.device_type == kCuda;
    const void* storage = fields.device_type == kCpu ? torch::storage_of(layout_, impl, reader_.classes()) : nullptr;
    if (storage == nullptr) return;
    const uint64_t data = word_at(storage, size_t(layout_.data()));
    const uint64_t nbytes = word_at(storage, size_t(layout_.nbytes()));
    if (data == 0 || nbytes == 0 || !is_of_c10(storage, data)) return;
    const uint64_t serial = live::add_earlier_allocation(pointer(data), nbytes, AllocationKind::heap, {kCpu, -1});
    // A thread without the GIL may have given the storage other memory meanwhile.
    if (serial != 0 && word_at(storage, size_t(layout_.data())) != data) {
      live::remove_earlier_allocation(pointer(data), AllocationKind::heap, {kCpu, -1}, serial);
    }
  }

  bool on_devices() const { return on_devices_; }

 private:
  // The two words after the address: its context and the function that frees it, in the order of the C++ library.
  bool is_of_c10(const void* storage, uint64_t data) const {
    const uint64_t first = word_at(storage, size_t(layout_.data()) + 8);
    const uint64_t second = word_at(storage, size_t(layout_.data()) + 16);
    return (first == data && c10_.contains(pointer(second))) || (second == data && c10_.contains(pointer(first)));
  }

  LoadedObject c10_;
  torch::SharedObjectMap objects_;
  torch::MetadataReader reader_;
  torch::TensorLayout layout_;
  bool on_devices_ = false;
};

bool has_block(const devices::AllocatorSnapshot& snapshot, int8_t device, const format::SegmentBlock& wanted) {
  for (const devices::DeviceSegments& known : snapshot.devices) {
    if (known.device != device) continue;
    for (const format::SegmentBlock& block : known.blocks) {
      if (block.address() == wanted.address()) {
        return block.size() == wanted.size() && block.state() == format::BlockState::allocated;
      }
    }
  }
  return false;
}

// A block that ended between torch's answer and its entry is not there in a second answer.
void add_device_memory(const Gil& gil) {
  devices::AllocatorSnapshot before, after;
  ask_allocator(gil, before);
  struct Added {
    int8_t device;
    format::SegmentBlock block;
    uint64_t serial;
  };
  std::vector<Added> added;
  for (const devices::DeviceSegments& known : before.devices) {
    for (const format::SegmentBlock& block : known.blocks) {
      if (block.state() != format::BlockState::allocated) continue;
      const uint64_t serial = live::add_earlier_allocation(pointer(block.address()), block.size(),
                                                           AllocationKind::caching, {kCuda, known.device});
      if (serial != 0) added.push_back({known.device, block, serial});
    }
  }
  ask_allocator(gil, after);
  if (!before.complete || !after.complete) live::earlier_tensors_incomplete("torch's allocator could not be asked");
  for (const Added& each : added) {
    if (after.complete && has_block(after, each.device, each.block)) continue;
    live::remove_earlier_allocation(pointer(each.block.address()), AllocationKind::caching, {kCuda, each.device},
                                    each.serial);
  }
}

}  // namespace

void find_earlier_tensors(const Gil& gil, Deadline deadline) {
  const KnownClasses classes = KnownClasses::find(gil);
  if (!classes.tensor) return;  // torch was never imported
  if (!check_type_fields(gil))
    return live::earlier_tensors_incomplete("this interpreter's types have an unknown layout");
  LookLimits limits(deadline);
  Kinds kinds(gil, classes);
  const FrozenObjects frozen(gil);
  ObjectGraph graph(gil, limits, &kinds, nullptr, &frozen);
  const char* detail = "";
  graph.read({module_globals(gil, "__main__"), gil->PyImport_GetModuleDict()}, detail);
  graph.tell_other_kinds();
  const TensorFields fields = TensorFields::by_shape(graph);
  PageArray<const void*> tensors;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.kind(i) != Kind::tensor) continue;
    const void* impl = fields.impl(graph.object(i));
    if (impl == nullptr || !live::add_earlier_tensor(impl)) continue;
    if (!tensors.push(impl)) limits.memory_ran_out();
  }
  EarlierStorages storages;
  if (storages.start(tensors)) {
    for (const void* impl : tensors) storages.add_memory_of(impl);
  }
  if (storages.on_devices()) add_device_memory(gil);
  if (limits.stop() == LookLimits::Stop::time) detail = "the time limit was reached (TENSORSCOPE_NAMES_GIL_MS)";
  if (limits.stop() == LookLimits::Stop::memory) detail = "the memory limit was reached (TENSORSCOPE_NAMES_MEMORY)";
  if (*detail != 0) live::earlier_tensors_incomplete(detail);
  live::earlier_tensors_found();
}

}  // namespace tensorscope::python::heap_inspector
