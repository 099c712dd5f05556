// SPDX-License-Identifier: Apache-2.0
#include "find_nan/nan_candidates.h"

namespace tensorscope::find_nan {

NanCandidates::Possible* NanCandidates::find(uint8_t origin) {
  if (origin == 0) return nullptr;
  Possible& possible = all_[origin % kMax];
  return possible.stage != Stage::free && possible.origin == origin ? &possible : nullptr;
}

void NanCandidates::free(Possible& possible) {
  possible.stage = Stage::free;
  open_.fetch_sub(1, std::memory_order_relaxed);
}

NanCandidates::Possible* NanCandidates::make() {
  for (int i = 0; i < kMax; ++i) {
    if (++last_origin_ == 0) ++last_origin_;
    Possible& possible = all_[last_origin_ % kMax];
    if (possible.stage == Stage::in_node && i == kMax - 1) free(possible);
    if (possible.stage != Stage::free) continue;
    possible.origin = last_origin_;
    open_.fetch_add(1, std::memory_order_relaxed);
    return &possible;
  }
  return nullptr;
}

bool NanCandidates::confirm(Possible& possible) {
  const Finding& finding = possible.finding;
  const bool wanted =
      !all_reported() && (finding.nan || !infinity_reported()) && !saying_.load(std::memory_order_relaxed);
  if (wanted) {
    said_ = finding;
    (finding.nan ? nan_reported_ : infinity_reported_).store(true, std::memory_order_relaxed);
    saying_.store(true, std::memory_order_relaxed);
  } else {
    count_unreported();
  }
  free(possible);
  return wanted;
}

NanCandidates::Possible* NanCandidates::open(const void* thread, const void* node, Describe describe) {
  Possible* possible = make();
  if (possible == nullptr) return nullptr;
  possible->stage = Stage::in_operation;
  possible->thread = thread;
  possible->node = node;
  describe(possible->finding);
  return possible;
}

uint8_t NanCandidates::add(const void* thread, const void* node, Describe describe) {
  const SpinGuard guard(lock_);
  const Possible* possible = guard ? open(thread, node, describe) : nullptr;
  return possible != nullptr ? possible->origin : 0;
}

bool NanCandidates::confirm_at_once(Describe describe) {
  const SpinGuard guard(lock_);
  Possible* possible = guard ? open(nullptr, nullptr, describe) : nullptr;
  return possible != nullptr && confirm(*possible);
}

void NanCandidates::drop_within(uint8_t origin) {
  const SpinGuard guard(lock_);
  Possible* possible = guard ? find(origin) : nullptr;
  if (possible != nullptr && possible->stage == Stage::in_operation) free(*possible);
}

void NanCandidates::drop_backward() {
  const SpinGuard guard(lock_);
  if (!guard) return;
  for (Possible& possible : all_) {
    if (possible.stage != Stage::free && possible.node != nullptr) free(possible);
  }
}

bool NanCandidates::settle(const void* thread, bool any_bad) {
  const SpinGuard guard(lock_);
  if (!guard) return false;
  bool confirmed = false;
  for (Possible& possible : all_) {
    if (possible.stage != Stage::in_operation || possible.thread != thread) continue;
    if (!any_bad) {
      free(possible);
    } else if (possible.node != nullptr) {
      possible.stage = Stage::in_node;
    } else {
      confirmed |= confirm(possible);
    }
  }
  return confirmed;
}

bool NanCandidates::waits_for_node(uint8_t origin, const void* node) {
  const SpinGuard guard(lock_);
  const Possible* possible = guard ? find(origin) : nullptr;
  return possible != nullptr && possible->stage == Stage::in_node && possible->node != node;
}

bool NanCandidates::end_node(uint8_t origin, bool expected) {
  const SpinGuard guard(lock_);
  Possible* possible = guard ? find(origin) : nullptr;
  if (possible == nullptr || possible->stage != Stage::in_node) return false;
  if (!expected) return confirm(*possible);
  possible->stage = Stage::held;
  possible->finding.held = true;
  return false;
}

bool NanCandidates::confirm_held() {
  const SpinGuard guard(lock_);
  if (!guard) return false;
  bool confirmed = false;
  for (int i = 1; i <= kMax; ++i) {  // the oldest first
    Possible& possible = all_[(last_origin_ + i) % kMax];
    if (possible.stage == Stage::held) confirmed |= confirm(possible);
  }
  return confirmed;
}

}  // namespace tensorscope::find_nan
