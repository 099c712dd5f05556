// SPDX-License-Identifier: Apache-2.0
#include "forecast/whatif/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "forecast/whatif/module_passes.h"
#include "forecast/whatif/sharding.h"
#include "support/dotted_path.h"
#include "support/error.h"

namespace tensorscope::analyzer::forecast {

namespace {

class Checkpointer {
 public:
  Checkpointer(Replay& replay, const Sample& base, const std::vector<std::string>& patterns)
      : replay_(replay), base_(base), passes_(replay, base, patterns) {
    if (passes_.all().empty()) {
      throw BadInput(fmt::format("{} has no forward pass of modules that match '{}' and is followed by backward; {}.",
                                 base.file, patterns.front(), known_modules()));
    }
  }

  void apply() {
    std::vector<uint8_t> dropped(replay_.blocks.size());
    std::map<size_t, std::vector<uint32_t>> freed_before;
    std::map<size_t, std::vector<const Pass*>> at_again;
    for (const Pass& pass : passes_.all()) {
      for (uint32_t replay_block : pass.saved) {
        dropped[replay_block] = 1;
        const bool cached = replay_.blocks[replay_block].autocasts && pass.backward_begin != SIZE_MAX;
        freed_before[cached ? pass.backward_begin : left(pass, replay_block)].push_back(replay_block);
      }
      at_again[pass.recompute_at].push_back(&pass);
      keep_arguments(pass);
    }
    keep_results();
    for (const auto& [replay_block, until] : kept_until_) freed_before[until + 1].push_back(replay_block);
    std::vector<Change> changes;
    for (size_t i = 0; i < replay_.changes.size(); ++i) {
      if (const auto freed = freed_before.find(i); freed != freed_before.end()) {
        for (uint32_t replay_block : freed->second) changes.push_back({replay_block, false});
      }
      if (const auto again = at_again.find(i); again != at_again.end()) {
        for (const Pass* pass : again->second) compute_again(*pass, dropped, changes);
      }
      const auto [replay_block, made] = replay_.changes[i];
      if (made || !kept_until_.contains(replay_block)) changes.push_back(replay_.changes[i]);
    }
    replay_.changes = std::move(changes);
  }

 private:
  // What the user may have meant.
  std::string known_modules() const {
    constexpr size_t kMaxShown = 5;
    std::set<std::string> names;
    for (const ReplayBlock& replay_block : replay_.blocks) {
      if (replay_block.place() == kNone) continue;
      const std::string unit = numbered_part(base_.modules(replay_block.place())), name = with_wildcards(unit);
      if (name != unit) names.insert(name);
    }
    if (names.empty()) return "no dump of this run names its modules";
    std::string text;
    size_t shown = 0;
    for (const std::string& name : names) {
      if (shown++ < kMaxShown) text += (text.empty() ? "it has " : ", ") + name;
    }
    return text;
  }

  // The change before which a forward pass that saves nothing frees a replay block: where the call of the module that
  // made it has ended. What that call made last is its result, which the call around it has.
  size_t left(const Pass& pass, uint32_t replay_block) {
    std::string_view call = passes_.path_of(replay_block);
    bool last = true;
    for (size_t i = passes_.made(replay_block) + 1; i <= pass.end; ++i) {
      const auto [other, made] = replay_.changes[i];
      if (!made || replay_.blocks[other].place() == kNone || !passes_.is_forward(other)) continue;
      const std::string_view path = passes_.path_of(other);
      while (path != call && !(path.starts_with(call) && path[call.size()] == '.')) {
        if (!last) return i;
        const size_t end = call.rfind('.');
        if (end == call.npos) return pass.end + 1;
        call = call.substr(0, end);
      }
      last = false;
    }
    return pass.end + 1;
  }
  // Whether the same line has made the next one of what it frees, as "total = total + result" does.
  bool goes_on(size_t freed) const {
    if (freed == 0 || !replay_.changes[freed - 1].made) return false;
    const uint32_t next = replay_.blocks[replay_.changes[freed - 1].block].block;
    return next != kNone &&
           base_.blocks[next].coarse == base_.blocks[replay_.blocks[replay_.changes[freed].block].block].coarse;
  }

  // What the modules around a pass, or beside it, made for it, such as a mask or an embedding of distances: an argument
  // that the graph keeps in place of what it saved.
  void keep_arguments(const Pass& pass) {
    const std::string& path = passes_.path_of(replay_.changes[pass.begin].block);
    size_t until = 0;
    for (uint32_t replay_block : pass.saved) {
      if (passes_.freed(replay_block) != SIZE_MAX) until = std::max(until, passes_.freed(replay_block));
    }
    for (size_t i = pass.end; i < std::min(pass.backward_begin, replay_.changes.size()); ++i) {
      const auto [replay_block, made] = replay_.changes[i];
      if (made || passes_.made(replay_block) > pass.begin || replay_.blocks[replay_block].block == kNone ||
          !passes_.is_forward(replay_block))
        continue;
      const std::string& maker = passes_.path_of(replay_block);
      const std::string around = maker.substr(0, std::min(maker.rfind('.'), maker.size()));
      if (goes_on(i) || passes_.concatenated_before(pass, replay_block)) continue;
      const bool beside = !around.empty() && path.starts_with(around + ".") && !passes_.used_before(pass, replay_block);
      if (passes_.instance(replay_block) == 0 && !maker.empty() && (beside || path.starts_with(maker + "."))) {
        size_t& kept = kept_until_[replay_block];
        kept = std::max({kept, passes_.freed(replay_block), until});
      }
    }
  }

  // The next pass is given it, and computes from it again; the copy is made again then.
  void keep_results() {
    for (size_t i = 0; i + 1 < passes_.all().size(); ++i) {
      const Pass& pass = passes_.all()[i];
      const Pass& next = passes_.all()[i + 1];
      if (pass.result == kNone || next.begin < pass.end || next.backward_begin != pass.backward_begin) continue;
      size_t until = 0;
      for (uint32_t replay_block : next.saved) {
        if (passes_.freed(replay_block) != SIZE_MAX) until = std::max(until, passes_.freed(replay_block));
      }
      if (until != 0) kept_until_[pass.result] = until;
    }
  }

  // The pass once more, with what it frees itself.
  void compute_again(const Pass& pass, const std::vector<uint8_t>& dropped, std::vector<Change>& changes) const {
    size_t end = pass.end;  // with what is freed as its functions return
    while (end + 1 < replay_.changes.size() && !replay_.changes[end + 1].made) ++end;
    for (size_t i = pass.begin; i <= end; ++i) {
      const auto [replay_block, made] = replay_.changes[i];
      if (passes_.instance(replay_block) != pass.instance || !passes_.is_forward(replay_block)) continue;
      const bool passing = passes_.freed(replay_block) != SIZE_MAX && passes_.freed(replay_block) <= end;
      if (dropped[replay_block] ? made : passing) changes.push_back({replay_block, made});
    }
  }

  Replay& replay_;
  const Sample& base_;
  ModulePasses passes_;
  std::map<uint32_t, size_t> kept_until_;  // of replay blocks that are arguments: the change that frees them
};

}  // namespace

void under_checkpoint(Replay& replay, const Sample& base, const std::vector<std::string>& patterns) {
  Checkpointer(replay, base, patterns).apply();
}

}  // namespace tensorscope::analyzer::forecast
