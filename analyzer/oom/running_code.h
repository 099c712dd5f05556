// SPDX-License-Identifier: Apache-2.0
// What the program was doing when memory ran out, read from Python stacks: which loop ran, whether a backward belongs
// to it, whether an optimizer's step ran.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/grouping.h"

namespace tensorscope::analyzer::oom {

class RunningCode {
 public:
  // `site`: of the failure, 0: nothing is known.
  RunningCode(const View& view, uint32_t site);

  // The innermost function of the user's in whose calls of modules living graph nodes were made, itself outside of
  // modules; where none was, the innermost one. kNone: the stack shows none. An index into Dump::codes.
  uint32_t loop() const { return loop_; }
  std::string loop_name() const;  // "evaluate"
  // Does a stack of the dump show that this function, or one that runs in it now, called backward?
  bool loop_calls_backward() const { return calls_backward_; }
  bool backward_seen() const { return backward_seen_; }  // from anywhere
  // Does the stack of this site run through loop()?
  bool in_loop(uint32_t site) const;

  bool in_optimizer() const { return in_optimizer_; }
  bool in_foreach() const { return !step_function_.empty(); }  // all parameters at once
  // What does so, "_multi_tensor_adam"; "": nothing.
  const std::string& step_function() const { return step_function_; }

  // A site below the call of backward that runs, or ran last, as far as stacks show; 0: none, or it may be several.
  uint32_t backward_site() const { return backward_site_; }

 private:
  void look_at_backward(const std::vector<bool>& user, const std::vector<bool>& runs);

  const Dump& dump_;
  uint32_t loop_ = kNone, backward_site_ = 0;
  bool calls_backward_ = false, backward_seen_ = false, in_optimizer_ = false;
  std::string step_function_;
};

}  // namespace tensorscope::analyzer::oom
