// SPDX-License-Identifier: Apache-2.0
#include "torch_events/saved_tensors.h"

#include <algorithm>
#include <new>

#include "live/allocation_table.h"
#include "live/device_table.h"
#include "live/serials.h"
#include "support/fresh_in_child.h"
#include "support/page_array.h"
#include "support/state.h"
#include "tensor_values/tensor_view.h"
#include "torch_events/at_thread_end.h"
#include "values_file/value_store.h"

namespace tensorscope::torch_events {

constinit std::atomic<bool> g_saves_are_followed{false};

namespace {

using tensor_values::Readable;

struct SavedStorage {
  const void* memory;
  uint64_t bytes;
  Serial allocation;
  live::DeviceSlot device;
};

struct SavesOfThread {
  PageArray<SavedStorage> storages;
  size_t calls = 0;  // that are running
};
thread_local SavesOfThread* t_saves = nullptr;
FreshInChild g_fresh_saves{[] {
  if (!t_saves) return;
  t_saves->storages.resize(0);
  t_saves->calls = 0;
}};

}  // namespace

void follow_saved_tensors() { g_saves_are_followed.store(true, std::memory_order_relaxed); }

void tensor_is_saved(const void* impl) {
  HookScope scope;
  if (!scope || !impl || !t_saves || t_saves->calls == 0) return;
  tensor_values::TensorView view;
  const Readable readable = tensor_values::view_tensor(impl, view);
  if ((readable != Readable::yes && readable != Readable::device) || !view.storage_data) return;
  const live::DeviceSlot device = live::g_devices.slot({view.device_type, view.device_index});
  const live::AllocationReference found = live::g_allocations.find(view.storage_data, device);
  PageArray<SavedStorage>& all = t_saves->storages;
  if (found.serial == 0 || (!all.empty() && all.back().allocation == found.serial)) return;
  if (!all.push({view.storage_data, found.nbytes, found.serial, device}))
    values_file::count_loss("saved bytes", "not enough memory");
}

SavesBegin saves_begin() {
  if (!saves_are_followed()) return {};
  if (!t_saves) {
    t_saves = new (std::nothrow) SavesOfThread;
    if (!t_saves) return {};
    delete_at_thread_end(t_saves);
  }
  ++t_saves->calls;
  return {live::newest_serial(), t_saves->storages.size()};
}

// What is gone by now, or is there twice, is of no use to the calls around either.
uint64_t saves_end(const SavesBegin& begin) {
  if (!t_saves || t_saves->calls == 0) return 0;
  PageArray<SavedStorage>& all = t_saves->storages;
  SavedStorage* const first = all.begin() + std::min(begin.first, all.size());
  std::sort(first, all.end(), [](const SavedStorage& a, const SavedStorage& b) { return a.allocation < b.allocation; });
  SavedStorage* end = std::unique(
      first, all.end(), [](const SavedStorage& a, const SavedStorage& b) { return a.allocation == b.allocation; });
  end = std::remove_if(first, end, [](const SavedStorage& each) {
    return live::g_allocations.find(each.memory, each.device).serial != each.allocation;
  });
  uint64_t bytes = 0;
  for (const SavedStorage* each = first; each != end; ++each) {
    if (each->allocation > begin.newest) bytes += each->bytes;
  }
  all.resize(--t_saves->calls == 0 ? 0 : size_t(end - all.begin()));
  return bytes;
}

}  // namespace tensorscope::torch_events
