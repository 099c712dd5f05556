// SPDX-License-Identifier: Apache-2.0
// Forward passes of modules in a run, and what backward needs of each: where torch.utils.checkpoint would compute
// again.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "forecast/replay.h"
#include "forecast/samples.h"

namespace tensorscope::analyzer::forecast {

// One pass of a module's forward that is computed again.
struct Pass {
  size_t begin = 0, end = 0;         // changes, the last one inclusive
  size_t recompute_at = SIZE_MAX;    // the change before which backward needs it
  size_t backward_begin = SIZE_MAX;  // the first change of the backward pass that follows
  uint32_t instance = 0;             // number of its module
  std::vector<uint32_t> saved{};
  uint32_t result = kNone;  // what comes out of it, where nothing saves it, or autocast's copy is saved in its place
};

class ModulePasses {
 public:
  // Of the modules that a pattern names: "model.layers.*". All of the parameters must outlive it.
  ModulePasses(const Replay& replay, const Sample& base, const std::vector<std::string>& patterns);

  // Those that save something for a backward pass that follows.
  const std::vector<Pass>& all() const { return passes_; }

  // The number of its module; 0 for none.
  uint32_t instance(uint32_t replay_block) const { return instance_[replay_block]; }
  // The change that makes or frees a replay block. SIZE_MAX: none frees it.
  size_t made(uint32_t replay_block) const { return made_[replay_block]; }
  size_t freed(uint32_t replay_block) const { return freed_[replay_block]; }
  bool is_forward(uint32_t replay_block) const;
  const std::string& path_of(uint32_t replay_block);  // of the module that made it

  // Whether modules around a pass, or beside it, have made of a replay block before the pass what it was made for: a
  // sum of two embeddings, a sum over layers, a concatenation.
  bool used_before(const Pass& pass, uint32_t replay_block) const;
  // The same of a concatenation alone.
  bool concatenated_before(const Pass& pass, uint32_t replay_block) const;

 private:
  bool is_saved(uint32_t replay_block) const;
  void find_modules(const std::vector<std::string>& patterns);
  void find_passes();
  void finish(Pass& pass) const;
  void take_result(Pass& pass, size_t until) const;
  uint32_t given_on(const Pass& pass, const Pass& next) const;
  template <typename Test>
  bool made_before(const Pass& pass, uint32_t replay_block, Test test) const;
  bool summed_before(const Pass& pass, uint32_t replay_block) const;

  const Replay& replay_;
  const Sample& base_;
  std::vector<uint32_t> instance_;  // of each replay block
  std::vector<size_t> made_, freed_;
  std::unordered_map<uint64_t, std::string> paths_;  // of modules, by site and forward site
  std::vector<size_t> backward_;                     // the changes that make something in backward
  std::vector<Pass> passes_;
};

}  // namespace tensorscope::analyzer::forecast
