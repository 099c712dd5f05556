// SPDX-License-Identifier: Apache-2.0
// Which places of a program compute in float32 whatever type they are given: a float32 run casts nothing there.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
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
  // The call of one of torch's losses that a site is within, as its Python frame; 0: in none.
  uint32_t loss_at(uint32_t site) const;
  // Whether the line that calls a loss makes this as well, in torch's own modules: no cast is in between.
  bool on_line_of_loss(uint32_t loss, uint32_t site) const;
  // Marks the input type of this call of a loss as known. Call before at().
  void set_known(uint32_t loss) { known_losses_.insert(loss); }
  bool is_known(uint32_t loss) const { return known_losses_.contains(loss); }

 private:
  Upcast looked_up(uint32_t site) const;
  bool by_torch(uint32_t site) const;
  bool is_loss(const Code& code) const;
  uint32_t program_frame(uint32_t frame) const;

  const Dump& dump_;
  Symbols& symbols_;
  const std::string package_;         // PyTorch's
  std::vector<int32_t> casts_from_;   // of each code: the line from which on it casts; INT32_MAX: it does not
  std::vector<bool> of_loss_;         // of each code
  std::vector<Upcast> casting_line_;  // of each Python frame
  std::vector<bool> line_known_;      // likewise
  std::unordered_map<uint32_t, Upcast> answers_;
  std::unordered_set<uint32_t> known_losses_;
  bool known_ = false;  // any source line
};

}  // namespace tensorscope::analyzer::forecast
