// SPDX-License-Identifier: Apache-2.0
#include "symbols/convolutions.h"

namespace tensorscope::analyzer {

Convolution convolution_in(const std::vector<Frame>& stack) {
  Convolution found = Convolution::not_told;
  for (const Frame& frame : stack) {
    if (frame.language != Frame::Language::native) continue;
    if (frame.function.find("run_conv_plan") != std::string::npos) return Convolution::plan;
    if (frame.function.find("onvolution") != std::string::npos) {
      found = Convolution::operation;
    } else if (found == Convolution::not_told && frame.function.find("at::") != std::string::npos) {
      found = Convolution::none;
    }
  }
  return found;
}

}  // namespace tensorscope::analyzer
