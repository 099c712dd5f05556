// SPDX-License-Identifier: Apache-2.0
// What each tensor is at a moment of a recording, as far as events and looks around that moment say it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dump_generated.h"
#include "recording/live_state.h"

namespace tensorscope::analyzer {

// What a tensor is, from where the recording says it.
struct TensorFacts {
  format::Tensor row;
  std::vector<int64_t> dims;
  uint64_t ns = 0;                // when it was so; rows are read a little later
  bool plain = false;             // a c10::TensorImpl, which events do not say
  bool storage_is_later = false;  // made after the moment
};

class TensorFactsAt {
 public:
  // `state`: the state that is replayed up to the moment.
  explicit TensorFactsAt(const LiveState& state) : state_(state) {}

  // From a look at the tensors, or from an event that says what its tensor is; `later`: after the moment.
  void note(uint64_t serial, TensorFacts facts, bool later);
  void note(const format::RecordedEvent& event, bool later);
  void forget(uint64_t serial) { facts_.erase(serial); }
  void clear() { facts_.clear(); }
  void memory_freed(uint64_t pointer, uint64_t ns) { freed_ns_[pointer] = ns; }
  void memory_allocated_later(uint64_t pointer) { later_memory_.insert(pointer); }

  const TensorFacts* of(uint64_t serial) const;  // null: nothing is known
  // Whether it has other memory at the moment, or none.
  bool has_another_storage(const TensorFacts& facts) const;

 private:
  bool is_live_memory(uint64_t pointer) const;

  const LiveState& state_;
  std::unordered_map<uint64_t, TensorFacts> facts_;   // by serial
  std::unordered_map<uint64_t, uint64_t> freed_ns_;   // by pointer: when memory there was last freed
  mutable std::unordered_set<uint64_t> live_memory_;  // pointers, at the moment
  std::unordered_set<uint64_t> later_memory_;         // pointers, allocated after it
};

}  // namespace tensorscope::analyzer
