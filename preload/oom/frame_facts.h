// SPDX-License-Identifier: Apache-2.0
// What Python stacks tell about what was made there, for every frame of the trie: whether torch's data loading,
// optimizers or modules were at work.
//
// Context: collector, under run_or_abandon_on_oom().
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "live/snapshot_view.h"
#include "support/ids.h"
#include "tensorscope/rules/user_code.h"

namespace tensorscope::oom {

class FrameFacts {
 public:
  explicit FrameFacts(const live::SnapshotView& view);

  // Who made what was made there, as bits of code::TorchPart.
  uint8_t parts(SiteId site) const { return facts_[leaf_of(site)]; }
  // Whether the innermost frame is this function of PyTorch's own package.
  bool runs_in_torch(SiteId site, std::string_view function) const;
  bool any_module_call() const { return any_module_call_; }  // on the stacks of the whole dump
  // Whether its stack is a native one alone.
  bool is_native_only(SiteId site) const;

 private:
  StackId leaf_of(SiteId site) const;

  const live::SnapshotView& view_;
  std::vector<uint8_t> facts_;     // by frame; there is always the one of no stack
  std::vector<uint8_t> is_torch_;  // by code
  bool any_module_call_ = false;
};

}  // namespace tensorscope::oom
