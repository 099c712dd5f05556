// SPDX-License-Identifier: Apache-2.0
#include "forecast/whatif/autocast.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "forecast/byte_buffers.h"
#include "forecast/whatif/cast_run.h"
#include "forecast/whatif/lower_casts.h"
#include "forecast/whatif/result_types.h"

namespace tensorscope::analyzer::forecast {

namespace {

class Autocaster {
 public:
  Autocaster(Replay& replay, const Sample& base, const Operations& operations, std::vector<Weight> weights)
      : run_(replay, base, operations, std::move(weights)),
        types_(run_),
        casts_(run_),
        results_(operations.all.size()) {}

  void apply() {
    run_.edit.start(run_.replay);
    for (uint32_t i = 0; i < run_.operations.all.size(); ++i) forward(i);
    for (const Value& value : run_.inputs.values()) casts_.free_casts(value);
    for (size_t i = 0; i < run_.replay.changes.size(); ++i) {
      const auto [replay_block, made] = run_.replay.changes[i];
      if (!made || run_.replay.blocks[replay_block].block == kNone ||
          run_.operations.of_replay_block[replay_block] == kNone)
        continue;
      if (run_.base.blocks[run_.replay.blocks[replay_block].block].backward) backward(i, replay_block);
    }
    run_.edit.apply(run_.replay);
  }

 private:
  static bool stays(Category category) {
    return category == Category::parameter || category == Category::buffer || category == Category::optimizer_state;
  }

  void forward(uint32_t index) {
    const Operation& operation = run_.operations.all[index];
    if (operation.traits.rule == CastRule::lower && !operation.traits.in_attention_math) casts_.give(index);
    if (operation.traits.unread) casts_.give_unread(index);
    int64_t largest = 0;
    for (uint32_t replay_block : operation.blocks) {
      if (run_.inputs.is_float(replay_block)) largest = std::max(largest, run_.inputs.numel_of(replay_block));
    }
    for (uint32_t replay_block : operation.blocks) {
      const Category category = run_.replay.blocks[replay_block].category;
      if (stays(category)) continue;
      if (!run_.inputs.is_float(replay_block)) {
        if (operation.traits.rule == CastRule::lower) halve_workspace(operation.begin, replay_block, {0.5, 0.5});
        if (operation.traits.unread) halve_workspace(operation.begin, replay_block, {});
        continue;
      }
      const int64_t numel = run_.inputs.numel_of(replay_block);
      CastType type{1, 1};
      const bool statistic = operation.traits.norm && numel < largest;
      if (category != Category::input_batch && !statistic) type = types_.type_of(index, replay_block, numel);
      run_.set(replay_block, type);
      if (statistic) continue;
      results_[index] = type;
      // What comes out of attention is cast back.
      const CastType given = operation.traits.in_attention_math ? CastType{0.5, 0.5} : type;
      if (is_hidden(index, replay_block)) continue;
      run_.inputs.add(replay_block, index, given).made_from =
          category == Category::input_batch ? kNone : types_.computed_from();
    }
  }

  // Whether the operation keeps it to itself: other operations are not given it.
  bool is_hidden(uint32_t index, uint32_t replay_block) {
    const Operation& operation = run_.operations.all[index];
    if (operation.traits.in_place || operation.traits.recurrent == RecurrentPart::gate) return true;
    if (operation.traits.dropout) return replay_block != operation.blocks.back();  // its mask
    const std::span<const int64_t> shape = run_.inputs.shape_of(replay_block);
    return operation.traits.in_layer && operation.traits.rule == CastRule::lower &&
           (shape.empty() || run_.inputs.weights().layer_weights(index, shape.back()).empty());
  }

  // What a library works with: on a CPU tensors laid out otherwise, in no tensor; on devices workspaces of a fixed
  // size; buffers of recurrent layers. `change` makes it.
  void halve_workspace(size_t change, uint32_t replay_block, CastType type) {
    const Block& block = run_.inputs.block_of(replay_block);
    if (run_.base.device.is_cpu() && !block.shape_known) run_.set(replay_block, type);
    if (!is_byte_buffer(block)) return;
    const auto [least, most] = kept_in_half(run_.base.device);
    scale_what_grows(run_.replay, run_.edit, change, replay_block,
                     {.least = std::min(type.least, least), .most = std::max(type.most, most)});
  }

  // A gradient of what an operation was given has that type; one of a weight is made in 16 bits and cast.
  void backward(size_t i, uint32_t replay_block) {
    const uint32_t index = run_.operations.of_replay_block[replay_block];
    const Operation& operation = run_.operations.all[index];
    const bool lower = operation.traits.rule == CastRule::lower && !operation.traits.in_attention_math;
    if (lower) halve_workspace(i, replay_block, {0.5, 0.5});
    if (operation.traits.unread) halve_workspace(i, replay_block, {});
    if (!run_.inputs.is_float(replay_block) || stays(run_.replay.blocks[replay_block].category)) return;
    if (operation.traits.gathers && run_.base.device.is_cpu()) add_up_gradients(i, operation, results_[index]);
    const bool parameters = run_.replay.blocks[replay_block].category == Category::gradient;
    const bool cast = lower && (parameters || casts_.casts(index, run_.inputs.numel_of(replay_block)));
    if (cast || operation.traits.unread) {
      const ReplayBlock of = run_.replay.blocks[replay_block];
      const ReplayBlock half = {kNone, of.growth, 0.5 * of.factor, 0, Category::backward_temporary, of.block};
      const uint32_t copy = run_.replay.add(cast ? half : as_uncertainty(half));
      run_.edit.make(i, copy);
      run_.edit.free(i + 1, copy);
    }
    if (cast || parameters) return;
    if (lower) {
      run_.set(replay_block, {0.5, 0.5});
      return;
    }
    if (results_[index]) run_.set(replay_block, *results_[index]);
  }

  void add_up_gradients(size_t i, const Operation& operation, const std::optional<CastType>& type) {
    if (!type || type->whole() || i != run_.inputs.gathered_gradient(operation)) return;
    const ReplayBlock buffer = run_.inputs.gather_buffer(i);
    run_.edit.keep_between(i + 1, i + 1, run_.replay.add(type->half() ? buffer : as_uncertainty(buffer)));
  }

  CastRun run_;
  ResultTypes types_;
  LowerCasts casts_;
  std::vector<std::optional<CastType>> results_;  // of each operation: the type of the last that it made
};

}  // namespace

void under_autocast(Replay& replay, const Sample& base, const Operations& operations, std::vector<Weight> weights) {
  Autocaster(replay, base, operations, std::move(weights)).apply();
}

}  // namespace tensorscope::analyzer::forecast
