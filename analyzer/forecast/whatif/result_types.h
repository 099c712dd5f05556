// SPDX-License-Identifier: Apache-2.0
// Which type the result of each operation has under autocast, from the types of what it is given.
#pragma once

#include <cstdint>

#include "forecast/whatif/cast_run.h"
#include "forecast/whatif/float32_operations.h"

namespace tensorscope::analyzer::forecast {

class ResultTypes {
 public:
  explicit ResultTypes(CastRun& run) : run_(run), upcasts_(run.base) {}

  // Of a block of `numel` float32 elements that the operation made. Copies that it computes from are put into the run.
  CastType type_of(uint32_t index, uint32_t replay_block, int64_t numel);
  // The one value that the block of the last type_of() was computed from, element by element; kNone: not known.
  uint32_t computed_from() const { return computed_from_; }

 private:
  CastType result(uint32_t index, uint32_t replay_block, int64_t numel);
  CastType given_type(uint32_t index, uint32_t replay_block, int64_t numel);
  CastType type_of_joined(uint32_t index, uint32_t replay_block);
  void keep_states(uint32_t index, int64_t numel);
  CastType type_of_two(uint32_t index, uint32_t replay_block, int64_t numel);
  void cast_up(const Operation& operation, Value* given);
  void save_attended(uint32_t index, uint32_t replay_block);

  CastRun& run_;
  Upcasts upcasts_;
  bool attends_ = false;  // within attention that is computed by its formula
  uint32_t computed_from_ = kNone;
};

}  // namespace tensorscope::analyzer::forecast
