// SPDX-License-Identifier: Apache-2.0
#include "forecast/whatif/sharding.h"

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "forecast/whatif/replay_edit.h"
#include "support/dotted_path.h"

namespace tensorscope::analyzer::forecast {

namespace {

constexpr int kOutside = -1, kRoot = 0;  // of no module; of the model itself, outside of its numbered modules

// One pass of the whole model. Indexes are of changes; SIZE_MAX: it has none.
struct Iteration {
  struct Run {
    int unit = kRoot;
    size_t begin = 0, end = 0;  // the last one inclusive
  };
  std::vector<Run> forward;                 // of numbered modules, in their order
  std::map<int, Run> backward;              // with the model's own
  size_t begin = SIZE_MAX, end = SIZE_MAX;  // of the forward pass
  size_t backward_begin = SIZE_MAX, backward_end = SIZE_MAX;
};

class Sharder {
 public:
  Sharder(Replay& replay, const Sample& base, int ranks) : replay_(replay), base_(base), ranks_(ranks) {}

  void apply() {
    find_units();
    find_iterations();
    shard_what_stays();
    edit_.start(replay_);
    for (const Iteration& iteration : iterations_) insert(iteration);
    edit_.apply(replay_);
    // Some ranks have one module more than others at the same moment.
    for (const auto& [unit, bytes] : bytes_) {
      if (unit != kRoot) replay_.held = std::max(replay_.held, bytes);
    }
  }

 private:
  // A rank's part of a tensor: it is cut along its first dimension, and the first rank has no fewer rows than others.
  double part(int64_t rows) const { return double((rows + ranks_ - 1) / ranks_) / double(rows); }
  double part(const ReplayBlock& replay_block) const {
    if (replay_block.block == kNone) return 1.0 / ranks_;
    const Block& block = base_.blocks[replay_block.block];
    if (!block.shape_known) return 1.0 / ranks_;
    if (block.ndim == 0) return 1;
    return base_.shape(block)[0] > 0 ? part(base_.shape(block)[0]) : 1;
  }

  int unit_of(const std::string& path) {
    if (path.empty()) return kOutside;
    const bool numbered = std::ranges::any_of(path_parts(path), [](std::string_view name) { return is_number(name); });
    if (!numbered) return kRoot;
    const std::string unit = numbered_part(path);
    return numbers_.try_emplace(unit, int(numbers_.size()) + 1).first->second;
  }

  // With the bytes of the parameters of each, filled up to whole rows of all ranks.
  void find_units() {
    const Dump& dump = base_.opened->dump;
    const Holders& holders = base_.opened->holders;
    for (size_t i = 0; i < dump.storages.size(); ++i) {
      const uint32_t representative = holders.representative(uint32_t(i));
      if (dump.storages[i].device != base_.device || representative == kNone) continue;
      if (holders.category(representative) != Category::parameter) continue;
      const std::span<const int64_t> sizes = dump.tensors[representative].sizes;
      const double whole = sizes.empty() || sizes[0] <= 0 ? 1 : part(sizes[0]) * ranks_;
      bytes_[std::max(kRoot, unit_of(holders.module(representative)))] += double(dump.storages[i].own_nbytes) * whole;
    }
    std::unordered_map<uint32_t, int> known;
    units_.assign(replay_.blocks.size(), kOutside);
    for (size_t i = 0; i < replay_.blocks.size(); ++i) {
      const uint32_t block = replay_.blocks[i].block;
      if (block == kNone) continue;
      const auto [found, fresh] = known.try_emplace(base_.blocks[block].place(), kOutside);
      if (fresh) found->second = unit_of(base_.modules(block));
      units_[i] = found->second;
    }
  }

  void find_iterations() {
    bool backward = true;
    for (size_t i = 0; i < replay_.changes.size(); ++i) {
      const auto [replay_block, made] = replay_.changes[i];
      if (!made || replay_.blocks[replay_block].block == kNone) continue;
      const Block& block = base_.blocks[replay_.blocks[replay_block].block];
      if (block.optimizer || (units_[replay_block] == kOutside && !block.backward)) continue;
      if (!block.backward) {
        if (backward) iterations_.emplace_back().begin = i;
        backward = false;
        forward_block(iterations_.back(), i, units_[replay_block]);
      } else if (!iterations_.empty()) {
        backward = true;
        backward_block(iterations_.back(), i, std::max(kRoot, units_[replay_block]));
      }
    }
  }

  static void forward_block(Iteration& iteration, size_t i, int unit) {
    iteration.end = i;
    if (unit == kRoot) return;
    if (!iteration.forward.empty() && iteration.forward.back().unit == unit) {
      iteration.forward.back().end = i;
    } else {
      iteration.forward.push_back({unit, i, i});
    }
  }

  static void backward_block(Iteration& iteration, size_t i, int unit) {
    if (iteration.backward_begin == SIZE_MAX) iteration.backward_begin = i;
    iteration.backward_end = i;
    iteration.backward.try_emplace(unit, Iteration::Run{unit, i, i}).first->second.end = i;
  }

  void shard_what_stays() {
    for (ReplayBlock& replay_block : replay_.blocks) {
      const bool of_step = replay_block.block != kNone ? base_.blocks[replay_block.block].optimizer
                                                       : replay_block.category == Category::temporary;
      if (replay_block.category == Category::parameter || replay_block.category == Category::optimizer_state ||
          of_step) {
        replay_block.factor *= part(replay_block);
      }
    }
  }

  uint32_t add_block(double bytes, Category category) {
    return replay_.add(ReplayBlock{kNone, replay_.add(Growth::constant(bytes)), 1, 0, category});
  }
  // Of a module: what is gathered in one buffer, and its parameters, which are copied out of it.
  struct Whole {
    uint32_t gathered, parameters;
  };
  const Whole& whole(int unit) {
    const auto [found, fresh] = whole_.try_emplace(unit);
    if (fresh)
      found->second = {add_block(bytes_[unit], Category::workspace), add_block(bytes_[unit], Category::parameter)};
    return found->second;
  }

  // What is gathered in a forward pass is freed when the next module has been gathered, and in a backward pass once it
  // is copied out; there the next module is gathered ahead.
  void insert(const Iteration& iteration) {
    edit_.make(iteration.begin, whole(kRoot).gathered);
    edit_.make(iteration.begin, whole(kRoot).parameters);
    uint32_t gathered = whole(kRoot).gathered;
    for (const Iteration::Run& run : iteration.forward) {
      edit_.make(run.begin, whole(run.unit).gathered);
      edit_.free(run.begin, gathered);
      edit_.make(run.begin, whole(run.unit).parameters);
      edit_.free(run.end + 1, whole(run.unit).parameters);
      gathered = whole(run.unit).gathered;
    }
    edit_.free(iteration.end + 1, gathered);
    if (iteration.backward_begin == SIZE_MAX) {
      edit_.free(iteration.end + 1, whole(kRoot).parameters);
    } else {
      insert_backward(iteration);
    }
  }

  void insert_backward(const Iteration& iteration) {
    std::map<int, std::vector<uint32_t>> gradients = gradients_of(iteration);
    uint32_t ahead = kNone, reduced = kNone;
    const auto gather_ahead = [&](size_t before, auto next) {
      ahead = kNone;
      for (; next != iteration.forward.rend() && ahead == kNone; ++next) {
        if (iteration.backward.contains(next->unit)) edit_.make(before, ahead = whole(next->unit).gathered);
      }
    };
    gather_ahead(iteration.backward_begin, iteration.forward.rbegin());
    for (auto run = iteration.forward.rbegin(); run != iteration.forward.rend(); ++run) {
      const auto found = iteration.backward.find(run->unit);
      if (found == iteration.backward.end()) continue;
      const auto [unit, begin, end] = found->second;
      edit_.make(begin, whole(unit).parameters);
      edit_.free(begin, ahead);
      gather_ahead(begin, std::next(run));
      edit_.free(end + 1, whole(unit).parameters);
      reduced = reduce(end + 1, gradients[unit], reduced);
    }
    const size_t end = iteration.backward_end + 1;
    edit_.free(end, whole(kRoot).parameters);
    reduced = reduce(end, gradients[kRoot], reduced);
    if (reduced != kNone) edit_.free(end, reduced);
  }

  // Of each module, with what has no module in the model's own.
  std::map<int, std::vector<uint32_t>> gradients_of(const Iteration& iteration) const {
    std::map<int, std::vector<uint32_t>> gradients;
    for (size_t i = iteration.backward_begin; i <= iteration.backward_end; ++i) {
      const auto [replay_block, made] = replay_.changes[i];
      if (made && replay_.blocks[replay_block].category == Category::gradient) {
        gradients[iteration.backward.contains(units_[replay_block]) ? units_[replay_block] : kRoot].push_back(
            replay_block);
      }
    }
    return gradients;
  }

  // The gradients are copied into one buffer, which stays until the next module's; of the sum a rank has its part.
  // Returns that buffer.
  uint32_t reduce(size_t before, const std::vector<uint32_t>& gradients, uint32_t last) {
    if (last != kNone) edit_.free(before, last);
    if (gradients.empty()) return kNone;
    double bytes = 0;
    for (uint32_t gradient : gradients) {
      const ReplayBlock& of = replay_.blocks[gradient];
      bytes += replay_.growths[of.growth].bytes(SizeValues{}) * of.factor * part(of) * ranks_;
    }
    const uint32_t input = add_block(bytes, Category::workspace);
    edit_.make(before, input);
    for (uint32_t gradient : gradients) {
      if (edit_.freed(gradient) < before) continue;
      edit_.free(before, gradient);
      ReplayBlock own = replay_.blocks[gradient];
      own.factor *= part(own);
      const uint32_t number = replay_.add(own);
      edit_.make(before, number);
      if (const size_t freed = edit_.freed(gradient); freed != SIZE_MAX) edit_.free_instead(freed, number);
    }
    return input;
  }

  Replay& replay_;
  const Sample& base_;
  const int ranks_;
  std::map<std::string, int> numbers_;  // of numbered modules
  std::map<int, double> bytes_;         // of their parameters
  std::vector<int> units_;              // of each replay block
  std::vector<Iteration> iterations_;
  std::map<int, Whole> whole_;
  ReplayEdit edit_;
};

}  // namespace

std::string numbered_part(const std::string& path) {
  for (std::string_view part : path_parts(path)) {
    if (is_number(part)) return path.substr(0, size_t(part.data() + part.size() - path.data()));
  }
  return path;
}

void apply_sharding(Replay& replay, const Sample& base, int ranks) { Sharder(replay, base, ranks).apply(); }

}  // namespace tensorscope::analyzer::forecast
