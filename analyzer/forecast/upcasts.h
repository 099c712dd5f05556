// Which places of a program compute in float32 whatever type they are given: a float32 run casts nothing there.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "forecast/samples.h"

namespace tensorscope::analyzer::forecast {

enum class Upcast : uint8_t {
  none,
  possible,   // a known line of a running function casts, or no line is known
  with_copy,  // the line casts and casts back: "softmax(scores, dtype=torch.float32).to(query.dtype)"
  by_torch    // the operation itself does
};

class Upcasts {
 public:
  explicit Upcasts(const Sample& base);
  Upcast at(uint32_t site);
  // Whether it is within one of torch's functions of losses.
  bool in_loss(uint32_t site) const;

 private:
  Upcast looked_up(uint32_t site) const;
  bool by_torch(uint32_t site) const;
  bool is_loss(const Code& code) const;

  const Dump& dump_;
  Symbols& symbols_;
  const std::string package_;        // PyTorch's
  std::vector<int32_t> casts_from_;  // of each code: the line from which on it casts; INT32_MAX: it does not
  std::vector<Upcast> casting_line_;
  std::unordered_map<uint32_t, Upcast> answers_;
  bool known_ = false;  // any source line
};

}  // namespace tensorscope::analyzer::forecast
