// SPDX-License-Identifier: Apache-2.0
// Values files of a small transformer in training, for the commands that read them.
#pragma once

#include <functional>

#include "support/values_builder.h"

namespace tensorscope::testing {

struct SampleRun {
  uint32_t steps = 3;
  uint32_t layers = 4;
  std::string root = "model";
  bool values = true, calls = true;
  bool raises = false;     // the head, in the last step
  bool cut = false;        // the last step's model call never ends
  bool backwards = false;  // backward calls
  bool threads = false;    // evaluation in a thread of its own
  bool elements = true;
  // What a value is changed by.
  std::function<void(ValueSpec&)> change = [](ValueSpec&) {};
};

ValuesBuilder sample_run(const SampleRun& run);

}  // namespace tensorscope::testing
