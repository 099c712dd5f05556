// SPDX-License-Identifier: Apache-2.0
#include "devices/cupti/memory_activity.h"

#include "support/pages.h"
#include "support/spread_bits.h"

namespace tensorscope::cupti {

constinit MemoryActivity g_memory;

bool MemoryActivity::start() {
  if (rows_ == nullptr) rows_ = static_cast<MemoryEvent*>(map_pages(kRows * sizeof(MemoryEvent)));
  return rows_ != nullptr;
}

// Rows are never taken out one by one, so a search ends at the first empty one. (No address is 0.)
size_t MemoryActivity::slot_of(uint64_t address) const {
  size_t slot = size_t(spread_bits(address) >> 40) & (kRows - 1);
  while (rows_[slot].address != 0 && rows_[slot].address != address) slot = (slot + 1) & (kRows - 1);
  return slot;
}

void MemoryActivity::remove_releases() {
  auto* fresh = static_cast<MemoryEvent*>(map_pages(kRows * sizeof(MemoryEvent)));
  if (fresh == nullptr) return;
  MemoryEvent* const old = rows_;
  rows_ = fresh;
  used_ = 0;
  for (size_t i = 0; i < kRows; ++i) {
    if (old[i].address == 0) continue;
    if (old[i].state == MemoryState::released_early) ++totals_.unknown_releases;
    if (old[i].state != MemoryState::live) continue;
    rows_[slot_of(old[i].address)] = old[i];
    ++used_;
  }
  unmap_pages(old, kRows * sizeof(MemoryEvent));
}

void MemoryActivity::record(const MemoryEvent& event) {
  if (event.address == 0) return;
  const SpinGuard guard(lock_);
  if (!guard || rows_ == nullptr) return;
  const bool allocation = event.state == MemoryState::live;
  ++(allocation ? totals_.allocations : totals_.releases);
  MemoryEvent* row = &rows_[slot_of(event.address)];
  if (row->address == 0) {
    if (used_ >= kMaxUsed) {
      if (used_ - live_ >= kWorthRemoving) remove_releases();
      if (used_ >= kMaxUsed) {
        ++totals_.lost;
        return;
      }
      row = &rows_[slot_of(event.address)];
    }
    ++used_;
    if (allocation) ++live_;
    *row = event;
    if (!allocation) row->state = MemoryState::released_early;
    return;
  }
  if (event.at_ns < row->at_ns) {
    if (allocation && row->state == MemoryState::released_early) row->state = MemoryState::released;
    return;
  }
  if (row->state == MemoryState::live) --live_;
  if (allocation) ++live_;
  *row = event;
}

size_t MemoryActivity::live() const {
  const SpinGuard guard(lock_);
  return guard ? live_ : 0;
}

size_t MemoryActivity::copy(MemoryEvent* out, size_t room, MemoryTotals& totals) {
  const SpinGuard guard(lock_);
  if (!guard || rows_ == nullptr) return 0;
  remove_releases();
  size_t count = 0;
  for (size_t i = 0; i < kRows && count < room; ++i) {
    if (rows_[i].address != 0 && rows_[i].state == MemoryState::live) out[count++] = rows_[i];
  }
  totals = totals_;
  return count;
}

// What the parent's driver holds is not the child's.
void MemoryActivity::forget_in_child() {
  unmap_pages(rows_, kRows * sizeof(MemoryEvent));
  rows_ = nullptr;
  used_ = live_ = 0;
  totals_ = {};
}

}  // namespace tensorscope::cupti
