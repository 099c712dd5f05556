#include "find_nan/possible_findings.h"

namespace tensorscope::find_nan {

PossibleFindings::Possible* PossibleFindings::find(uint8_t origin) {
  if (origin == 0) return nullptr;
  Possible& possible = all_[origin % kMost];
  return possible.stage != Stage::free && possible.origin == origin ? &possible : nullptr;
}

void PossibleFindings::free(Possible& possible) {
  possible.stage = Stage::free;
  open_.fetch_sub(1, std::memory_order_relaxed);
}

PossibleFindings::Possible* PossibleFindings::make() {
  for (int i = 0; i < kMost; ++i) {
    if (++last_origin_ == 0) ++last_origin_;
    Possible& possible = all_[last_origin_ % kMost];
    if (possible.stage == Stage::in_node && i == kMost - 1) free(possible);
    if (possible.stage != Stage::free) continue;
    possible.origin = last_origin_;
    open_.fetch_add(1, std::memory_order_relaxed);
    return &possible;
  }
  return nullptr;
}

bool PossibleFindings::confirm(Possible& possible) {
  const Finding& finding = possible.finding;
  const bool wanted = !all_said() && (finding.nan || !said_infinity()) && !saying_.load(std::memory_order_relaxed);
  if (wanted) {
    said_ = finding;
    (finding.nan ? said_nan_ : said_infinity_).store(true, std::memory_order_relaxed);
    saying_.store(true, std::memory_order_relaxed);
  } else {
    count_later();
  }
  free(possible);
  return wanted;
}

PossibleFindings::Possible* PossibleFindings::open(const void* thread, const void* node, Describe describe,
                                                   void* context) {
  Possible* possible = make();
  if (possible == nullptr) return nullptr;
  possible->stage = Stage::in_operation;
  possible->thread = thread;
  possible->node = node;
  describe(possible->finding, context);
  return possible;
}

uint8_t PossibleFindings::add(const void* thread, const void* node, Describe describe, void* context) {
  const SpinGuard guard(lock_);
  const Possible* possible = guard ? open(thread, node, describe, context) : nullptr;
  return possible != nullptr ? possible->origin : 0;
}

bool PossibleFindings::confirm_at_once(Describe describe, void* context) {
  const SpinGuard guard(lock_);
  Possible* possible = guard ? open(nullptr, nullptr, describe, context) : nullptr;
  return possible != nullptr && confirm(*possible);
}

void PossibleFindings::drop_within(uint8_t origin) {
  const SpinGuard guard(lock_);
  Possible* possible = guard ? find(origin) : nullptr;
  if (possible != nullptr && possible->stage == Stage::in_operation) free(*possible);
}

void PossibleFindings::drop_backward() {
  const SpinGuard guard(lock_);
  if (!guard) return;
  for (Possible& possible : all_) {
    if (possible.stage != Stage::free && possible.node != nullptr) free(possible);
  }
}

bool PossibleFindings::settle(const void* thread, bool any_bad) {
  const SpinGuard guard(lock_);
  if (!guard) return false;
  bool to_say = false;
  for (Possible& possible : all_) {
    if (possible.stage != Stage::in_operation || possible.thread != thread) continue;
    if (!any_bad) {
      free(possible);
    } else if (possible.node != nullptr) {
      possible.stage = Stage::in_node;
    } else {
      to_say |= confirm(possible);
    }
  }
  return to_say;
}

bool PossibleFindings::waits_for_node(uint8_t origin, const void* node) {
  const SpinGuard guard(lock_);
  const Possible* possible = guard ? find(origin) : nullptr;
  return possible != nullptr && possible->stage == Stage::in_node && possible->node != node;
}

bool PossibleFindings::leave_node(uint8_t origin, bool expected) {
  const SpinGuard guard(lock_);
  Possible* possible = guard ? find(origin) : nullptr;
  if (possible == nullptr || possible->stage != Stage::in_node) return false;
  if (!expected) return confirm(*possible);
  possible->stage = Stage::held;
  possible->finding.held = true;
  return false;
}

bool PossibleFindings::confirm_held() {
  const SpinGuard guard(lock_);
  if (!guard) return false;
  bool to_say = false;
  for (int i = 1; i <= kMost; ++i) {  // the oldest first
    Possible& possible = all_[(last_origin_ + i) % kMost];
    if (possible.stage == Stage::held) to_say |= confirm(possible);
  }
  return to_say;
}

}  // namespace tensorscope::find_nan
