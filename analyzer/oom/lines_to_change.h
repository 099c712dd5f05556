// SPDX-License-Identifier: Apache-2.0
// The lines of a program at which a remedy is applied, read from the stacks of the dump: where a module is called,
// where the loop calls the model.
//
// Built once a command, in time linear to the dump. Answers are "train.py:57 main", "" where no stack shows it.
#pragma once

#include <cstdint>
#include <string>

#include "memory/grouping.h"
#include "symbols/frame_facts.h"

namespace tensorscope::analyzer::oom {

class LinesToChange {
 public:
  explicit LinesToChange(const View& view) : view_(view), facts_(view.dump), package_(torch_package(view.dump)) {}

  // The line that calls the modules of this name ("model.layers.*"): torch's own containers are passed over.
  std::string call_of(const std::string& modules) const;
  // The program's line outside of all modules from which the most living graph nodes were made.
  std::string forward() const;
  // The program's innermost line of a stack.
  std::string own_line(uint32_t site) const;
  // Where the largest input batch was made.
  std::string input(Device device) const;
  // Whether one of torch's optimizers made what was made at this site.
  bool in_optimizer(uint32_t site) const { return (facts_.parts(site) & code::kOptimizer) != 0; }

 private:
  bool user(uint32_t frame) const;
  // From this frame outwards.
  std::string first_user_line(uint32_t frame) const;

  const View& view_;
  const FrameFacts facts_;
  const std::string package_;
};

}  // namespace tensorscope::analyzer::oom
