// SPDX-License-Identifier: Apache-2.0
#include "oom/headroom.h"

#include <algorithm>

#include "dump_generated.h"

namespace tensorscope::analyzer::oom {

namespace {

constexpr uint64_t kMinRemedy = uint64_t{1} << 20;

// glibc maps a block by itself from its threshold on, which is between 128 KiB and 32 MiB. Such a block begins 16 bytes
// into a page, or 64 with torch's alignment.
bool mapped_by_itself(const Allocation& block) {
  constexpr uint64_t kPage = 4096, kMin = 128 << 10, kSurely = 32 << 20;
  const uint64_t offset = block.pointer % kPage;
  return block.kind == uint8_t(format::AllocationKind::heap) &&
         (block.nbytes >= kSurely || (block.nbytes >= kMin && (offset == 16 || offset == 64)));
}

}  // namespace

Headroom::Headroom(const RemedyCase& about)
    : about_(about),
      dump_(about.views.back().dump),
      memory_(about.device.is_cpu() ? nullptr : dump_.memory_of(about.device)),
      fit_(dump_, memory_, about.cached, about.request) {
  allocated_ = in_use(about.balance);
  least_ = std::max<uint64_t>(allocated_ / 100, std::min(kMinRemedy, std::max<uint64_t>(about.request / 8, 1)));
}

bool Headroom::host_possible() const {
  return about_.device.is_cpu() && about_.request != 0 && dump_.failure && dump_.failure->limit_bytes != 0;
}

bool Headroom::too_large() const {
  if (!about_.device.is_cpu()) return fit_.too_large();
  const uint64_t machine = dump_.totals.machine_total;
  return about_.request != 0 && ((host_possible() && about_.request > dump_.failure->limit_bytes) ||
                                 (machine != 0 && about_.request > machine));
}

Fits Headroom::fits(const Freed& freed) const {
  if (!about_.device.is_cpu()) return fit_.after(freed.allocations, freed.bytes);
  if (!host_possible()) return Fits::unknown;
  uint64_t surely = left();
  for (uint32_t i : freed.allocations)
    surely += mapped_by_itself(dump_.allocations[i]) ? dump_.allocations[i].nbytes : 0;
  return surely >= about_.request ? Fits::yes : fits_at_most(freed.bytes);
}

uint64_t Headroom::in_private_pools(const Freed& freed) const {
  uint64_t bytes = 0;
  for (const Segment& segment : memory_ == nullptr ? std::vector<Segment>() : memory_->segments) {
    if (!segment.private_pool()) continue;
    for (uint32_t i : freed.allocations) {
      const Allocation& block = dump_.allocations[i];
      if (block.pointer - segment.address < segment.size) bytes += block.nbytes;
    }
  }
  return bytes;
}

Fits Headroom::fits_at_most(uint64_t bytes, uint64_t request) const {
  if (!about_.device.is_cpu()) return fit_.of_request(request).at_most(bytes + about_.cached.common);
  if (!host_possible()) return Fits::unknown;
  return left() + bytes >= request ? Fits::may : Fits::no;
}

void Headroom::fill_missing(Remedy& remedy, uint64_t bytes, uint64_t request) const {
  if (remedy.fits != Fits::no) return;
  if (!about_.device.is_cpu()) {
    remedy.missing = fit_.of_request(request).missing(bytes);
  } else if (left() + bytes < request) {
    remedy.missing = request - left() - bytes;
  }
}

}  // namespace tensorscope::analyzer::oom
