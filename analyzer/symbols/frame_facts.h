// What the Python stacks of a dump tell about whatever was made there, worked out once for every frame of the trie: the
// calls of nn.Modules around it, and whether torch's own data loading, optimizers or modules were at work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/dump.h"
#include "model/user_code.h"

namespace tensorscope::model {

class FrameFacts {
 public:
  explicit FrameFacts(const Dump& dump);

  // The call of a named nn.Module that a site runs in: the frame of torch's call wrapper, 0 where none. Frames are
  // places, not moments: calls from one line are one call.
  uint32_t call(uint32_t site) const { return call_of_[dump_.sites[site].python]; }
  // The call around a call, 0 where it is the outermost.
  uint32_t outer_call(uint32_t call) const { return call_of_[dump_.python_frames[call].parent]; }
  const std::string& path(uint32_t call) const;                                // of the module, "" for call 0
  const std::string& module(uint32_t site) const { return path(call(site)); }  // the innermost
  bool runs_in(uint32_t site, uint32_t call) const;                            // whether the call is on the stack
  uint32_t calls_left(uint32_t site, const std::string& function) const;       // see the .cc
  // torch.optim or torch.nn made it itself
  bool in_optimizer(uint32_t site) const { return has(site, code::kOptimizer); }
  bool in_module_code(uint32_t site) const { return has(site, code::kModuleCode); }
  // anywhere below torch.utils.data; rebuilt by torch.multiprocessing
  bool in_data_loading(uint32_t site) const { return has(site, code::kDataLoading); }
  bool from_other_process(uint32_t site) const { return has(site, code::kOtherProcess); }
  // A call of any module is on the stack, or code that stands for one.
  bool computed(uint32_t site) const { return has(site, code::kComputed); }
  // torch.distributed made it itself: the innermost frame is its.
  bool in_communication(uint32_t site) const { return has(site, code::kCommunication); }
  bool torch_function(uint32_t site, const std::string& function) const;  // the innermost frame is torch's, named so
  // "train.py:57 train_step": the innermost frame of the program's own code, "" where there is none.
  std::string place(uint32_t site) const;

 private:
  bool has(uint32_t site, uint8_t fact) const { return (facts_[dump_.sites[site].python] & fact) != 0; }

  const Dump& dump_;
  std::vector<uint32_t> call_of_, user_frame_;  // by Python frame
  std::vector<uint8_t> facts_;
  std::vector<uint8_t> is_torch_;  // by code
};

}  // namespace tensorscope::model
