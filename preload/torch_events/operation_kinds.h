// SPDX-License-Identifier: Apache-2.0
// What the operations of torch do with their arguments, as far as it matters to who made a NaN or an infinity. By name;
// an operation that is not listed computes.
//
// Context: any. Lock-free but for the first sight of a name.
#pragma once

#include <cstdint>
#include <string_view>

#include "tensor_values/value_bounds.h"

namespace tensorscope::torch_events {

enum class ValueOrigin : uint8_t {
  computed,       // new values
  finite,         // values that are always finite: zeros, random numbers
  copied,         // values of its arguments, in other places or another dtype
  filled,         // ... and a number that the program gave: full, masked_fill, where
  uninitialised,  // memory that nobody has written: empty
  external,       // values that no operation wrote: torch.tensor(), a storage from a file
  nothing,        // the values stay as they are: detach_, squeeze_
};

struct OperationKind {
  ValueOrigin origin = ValueOrigin::computed;
  tensor_values::Bound bound = tensor_values::Bound::none;  // of its result
  bool foreign = false;        // not torch's own: it may go on writing when it is over, as communication does
  bool writes = false;         // its first argument: the name ends in "_"
  bool replaces = false;       // ... in full, whatever was in it
  bool checks_scale = false;   // GradScaler looks for what is not finite
  bool updates_scale = false;  // ... and is done with the step
};

OperationKind kind_of_name(std::string_view name);

// The same for a name that stays where it is: looked up once.
const OperationKind& kind_of(const char* name);

}  // namespace tensorscope::torch_events
