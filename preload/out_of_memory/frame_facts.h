// What Python stacks tell about what was made there, for every frame of the trie: the user's own innermost frame, and
// whether torch's data loading, optimizers or modules were at work (the rules of the analyzer's model/frame_facts.h).
//
// Context: collector, under run_if_memory_lasts().
#pragma once

#include <cstdint>
#include <vector>

#include "live/ids.h"
#include "live/snapshot_view.h"
#include "tensorscope/rules/user_code.h"

namespace tensorscope::out_of_memory {

class FrameFacts {
 public:
  explicit FrameFacts(const live::SnapshotView& view);

  bool in_optimizer(SiteId site) const { return has(site, code::kOptimizer); }
  bool in_module_code(SiteId site) const { return has(site, code::kModuleCode); }
  bool computed(SiteId site) const { return has(site, code::kComputed); }
  bool in_data_loading(SiteId site) const { return has(site, code::kDataLoading | code::kOtherProcess); }

 private:
  bool has(SiteId site, int facts) const;

  const live::SnapshotView& view_;
  std::vector<uint8_t> facts_;  // by frame
};

}  // namespace tensorscope::out_of_memory
