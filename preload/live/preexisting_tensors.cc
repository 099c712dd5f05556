// SPDX-License-Identifier: Apache-2.0
#include "live/preexisting_tensors.h"

#include <atomic>

#include "live/device_table.h"
#include "live/site_table.h"
#include "live/tensor_table.h"
#include "live/tracker.h"
#include "support/clock.h"

namespace tensorscope::live {

namespace {

std::atomic<uint64_t> g_ns{0}, g_tensors_found{0};
std::atomic<SiteId> g_site{0};
constexpr char kNotYet[] = "Python's objects could not be looked at yet";
std::atomic<const char*> g_detail{kNotYet};

// TensorImpl's count of references is the low half of its second word (c10/util/intrusive_ptr.h, 1.13 to 2.14).
bool is_referred_to(const void* impl) {
  return __atomic_load_n(static_cast<const uint32_t*>(impl) + 2, __ATOMIC_SEQ_CST) != 0;
}

}  // namespace

bool start_attached() {
  const SiteId site = g_sites.add_without_stack();
  if (site == 0) return false;
  g_site.store(site, std::memory_order_relaxed);
  g_ns.store(monotonic_ns(), std::memory_order_release);
  return true;
}

// A thread that ends the tensor meanwhile has lowered the count before its hook comes, and cannot free the TensorImpl
// without the GIL, which the Python object needs.
bool add_earlier_tensor(const void* impl) {
  const Attach attach = attach_facts();
  if (attach.ns == 0 || tensor_tracking_is_disabled() || !is_referred_to(impl) || g_tensors.serial(impl) != 0)
    return false;
  TensorReference made;
  g_tensors.add(impl, {attach.ns, attach.site, 0}, made);
  if (made.serial == 0) return false;
  if (!is_referred_to(impl)) {
    g_tensors.forget(impl);
    return false;
  }
  g_tensors_found.fetch_add(1, std::memory_order_relaxed);
  return true;
}

Serial add_earlier_allocation(const void* pointer, uint64_t nbytes, AllocationKind kind, Device device) {
  const Attach attach = attach_facts();
  const DeviceSlot slot = g_devices.slot(device);
  if (attach.ns == 0 || slot == DeviceTable::kNone || g_allocations.contains(pointer, slot)) return 0;
  if (slot != DeviceTable::kCpu) g_devices.mark_used_here(slot);
  return g_allocations.add({pointer, nbytes, kind, slot, 0}, {attach.ns, attach.site, 0}).serial;
}

void remove_earlier_allocation(const void* pointer, AllocationKind kind, Device device, Serial serial) {
  const DeviceSlot slot = g_devices.slot(device);
  if (g_allocations.find(pointer, slot).serial == serial) g_allocations.remove(pointer, kind, slot);
}

void earlier_tensors_incomplete(const char* why) { g_detail.store(why, std::memory_order_release); }

void earlier_tensors_found() {
  const char* expected = kNotYet;
  g_detail.compare_exchange_strong(expected, "", std::memory_order_acq_rel);
}

Attach attach_facts() {
  Attach facts;
  facts.ns = g_ns.load(std::memory_order_acquire);
  facts.site = g_site.load(std::memory_order_relaxed);
  facts.tensors = g_tensors_found.load(std::memory_order_relaxed);
  facts.detail = g_detail.load(std::memory_order_acquire);
  return facts;
}

}  // namespace tensorscope::live
