// SPDX-License-Identifier: Apache-2.0
#include "devices/cupti/launch_counts.h"

#include "devices/cupti/launch_sites.h"
#include "support/pages.h"
#include "support/spread_bits.h"

namespace tensorscope::cupti {

constinit LaunchTable g_launches;
constinit LaunchSites g_launch_sites;

bool LaunchSites::start() {
  if (slots_ == nullptr) slots_ = static_cast<std::atomic<uint64_t>*>(map_pages(kSlots * sizeof(*slots_)));
  return slots_ != nullptr;
}

bool LaunchTable::start() {
  if (rows_ == nullptr) rows_ = static_cast<LaunchCounts*>(map_pages(kSites * sizeof(LaunchCounts)));
  return rows_ != nullptr;
}

void LaunchTable::count(SiteId site, const LaunchCounts& more) {
  const SpinGuard guard(lock_);
  if (!guard || rows_ == nullptr) return;
  const auto row_of = [this](SiteId wanted) REQUIRES(lock_) {
    size_t slot = size_t(spread_bits(wanted) >> 40) & (kSites - 1);
    while (rows_[slot].used != 0 && rows_[slot].site != wanted) slot = (slot + 1) & (kSites - 1);
    return &rows_[slot];
  };
  LaunchCounts* row = row_of(site);
  if (row->used == 0) {
    if (used_ >= kMaxUsed && site != 0) row = row_of(site = 0);
    if (row->used == 0) ++used_;
    row->used = 1;
    row->site = site;
  }
  row->add(more);
}

size_t LaunchTable::size() const {
  const SpinGuard guard(lock_);
  return guard ? used_ : 0;
}

size_t LaunchTable::copy(LaunchCounts* out, size_t room) const {
  const SpinGuard guard(lock_);
  if (!guard || rows_ == nullptr) return 0;
  size_t count = 0;
  for (size_t i = 0; i < kSites && count < room; ++i) {
    if (rows_[i].used != 0) out[count++] = rows_[i];
  }
  return count;
}

void LaunchTable::forget_in_child() {
  unmap_pages(rows_, kSites * sizeof(LaunchCounts));
  rows_ = nullptr;
  used_ = 0;
}

}  // namespace tensorscope::cupti
