// What stays float32 under torch.autocast on a device: what its float32 operations save and make.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "memory/grouping.h"

namespace tensorscope::analyzer::oom {

// `node`: class of a node, such as "LogSoftmaxBackward0".
bool saves_float32(std::string_view node);
// `operation`: as torch's profiler names it, without "aten::", of a forward or backward pass.
bool makes_float32(std::string_view operation);

class AutocastTypes {
 public:
  explicit AutocastTypes(const View& view);

  // An operation that autocast runs in float32 saved it, as it is or as a copy.
  bool saved_float32(const Item& item) const;
  bool made_float32(const Item& item);

 private:
  const View& view_;
  std::vector<bool> saved_;                   // by storage
  std::unordered_map<uint32_t, bool> sites_;  // that make float32
};

}  // namespace tensorscope::analyzer::oom
