// SPDX-License-Identifier: Apache-2.0
#include "forecast/whatif/dtype.h"

#include <algorithm>
#include <span>

#include "forecast/byte_buffers.h"
#include "forecast/operation_inputs.h"
#include "forecast/whatif/float32_operations.h"
#include "forecast/whatif/replay_edit.h"
#include "tensorscope/rules/dtypes.h"

namespace tensorscope::analyzer::forecast {

namespace {

// What model.to(dtype) surely halves: the program itself casts no weights back.
bool of_the_model(Category category) {
  return category == Category::parameter || category == Category::buffer || category == Category::gradient ||
         category == Category::optimizer_state || category == Category::input_batch;
}

// The operation after that which made a replay block; null: none.
const OperationTraits* next_operation(const Operations& operations, size_t replay_block) {
  const uint32_t index = operations.of_replay_block[replay_block];
  return index != kNone && index + 1 < operations.all.size() ? &operations.all[index + 1].traits : nullptr;
}

// What is put into the run: copies in float32, of which a float32 run has no trace, and what of a library's buffers
// does not grow.
class HalfEdit {
 public:
  HalfEdit(Replay& replay, const Sample& base, const Operations& operations)
      : replay_(replay), base_(base), operations_(operations), inputs_(replay, base, operations, edit_, {}) {}

  void apply(Upcasts& upcasts) {
    edit_.start(replay_);
    bool attends = false;  // within attention that is computed by its formula
    for (uint32_t i = 0; i < operations_.all.size(); ++i) {
      const Operation& operation = operations_.all[i];
      attends = attends && operation.traits.in_attention_math;
      const uint32_t loss = upcasts.loss_at(operation.site);
      if (loss != 0 && given_product(upcasts, loss, operation)) upcasts.set_known(loss);
      for (uint32_t replay_block : operation.blocks) {
        if (!inputs_.is_float(replay_block) || of_the_model(replay_.blocks[replay_block].category)) continue;
        if (operation.traits.in_attention_math && !attends && !inputs_.shape_of(replay_block).empty()) {
          save_attended(i, replay_block);
          attends = true;
        }
        inputs_.add(replay_block, i, {0.5, 0.5});
      }
      if (operation.traits.saves_result && loss != 0 && !upcasts.is_known(loss)) may_copy_scores(operation);
      if (operation.traits.gathers && base_.device.is_cpu()) add_up_gradients(operation, upcasts.at(operation.site));
    }
    scale_buffers();
    edit_.apply(replay_);
  }

 private:
  void scale_buffers() {
    for (size_t i = 0; i < replay_.changes.size(); ++i) {
      const auto [replay_block, made] = replay_.changes[i];
      const uint32_t index =
          made && replay_.blocks[replay_block].block != kNone ? operations_.of_replay_block[replay_block] : kNone;
      if (index == kNone || !is_byte_buffer(inputs_.block_of(replay_block))) continue;
      const OperationTraits& traits = operations_.all[index].traits;
      if (traits.unread) replay_.unread = true;
      if (traits.unread || traits.rule == CastRule::lower) {
        const auto [least, most] = kept_in_half(base_.device);
        scale_what_grows(replay_, edit_, i, replay_block, {.least = least, .most = traits.unread ? 1 : most});
      }
    }
  }

  void save_attended(uint32_t index, uint32_t replay_block) {
    const auto [values, until] = inputs_.attended(index, replay_block);
    if (values == nullptr) return;
    const double part = double(inputs_.numel_of(replay_block)) / double(values->numel);
    const uint32_t copy = copy_of(values->replay_block, part, operations_.all[index]);
    edit_.save_instead(operations_.all[index].begin, copy, values->replay_block, until);
  }

  // Whether the line that calls a loss makes the scores as well, by a product, which has the type of its weights.
  bool given_product(const Upcasts& upcasts, uint32_t loss, const Operation& operation) {
    const uint32_t replay_block = operation.blocks.front();
    const Value* scores =
        inputs_.is_float(replay_block) ? inputs_.newest_of(operation, inputs_.numel_of(replay_block)) : nullptr;
    if (scores == nullptr) return false;
    const Operation& maker = operations_.all[scores->operation];
    return maker.traits.rule == CastRule::lower && upcasts.on_line_of_loss(loss, maker.site);
  }

  void add_up_gradients(const Operation& operation, Upcast upcast) {
    const size_t i = inputs_.gathered_gradient(operation);
    if (i == SIZE_MAX) return;
    const ReplayBlock buffer = inputs_.gather_buffer(i);
    edit_.keep_between(i + 1, i + 1, replay_.add(upcast == Upcast::none ? buffer : as_uncertainty(buffer)));
  }

  // "scores = scores.float()" before log_softmax, and the gradient of that.
  void may_copy_scores(const Operation& operation) {
    const auto may_keep_copy = [&](double part, size_t begin, size_t end) {
      const uint32_t copy = copy_of(operation.blocks.front(), part, operation);
      replay_.blocks[copy] = as_uncertainty(replay_.blocks[copy]);
      edit_.keep_between(begin, end, copy);
    };
    may_keep_copy(1, operation.begin, operation.end);
    if (operation.backward_begin != SIZE_MAX) may_keep_copy(0.5, operation.backward_begin, operation.backward_end);
  }

  // `part`: of its float32 bytes.
  uint32_t copy_of(uint32_t replay_block, double part, const Operation& maker) {
    const ReplayBlock of = replay_.blocks[replay_block];
    return replay_.add(ReplayBlock{kNone, of.growth, part * of.factor, 0, Category::saved_activation,
                                   replay_.blocks[maker.blocks.front()].block});
  }

  Replay& replay_;
  const Sample& base_;
  ReplayEdit edit_;
  const Operations& operations_;
  OperationInputs inputs_;
};

}  // namespace

void apply_dtype(Replay& replay, const Sample& base, const Operations& operations) {
  Upcasts upcasts(base);
  UnreadStacks& unread = base.opened->places.unread();
  const size_t recorded = replay.blocks.size();
  HalfEdit(replay, base, operations).apply(upcasts);
  for (ReplayBlock& replay_block : std::span(replay.blocks).first(recorded)) {
    if (replay_block.block == kNone) {
      replay_block.factor *= 0.5;
      continue;
    }
    const Block& block = base.blocks[replay_block.block];
    // What a library works in on a device has the same size for all types (cuBLAS), or one of its own (cuDNN).
    if (!block.shape_known && !base.device.is_cpu() && !of_the_model(replay_block.category)) continue;
    const bool float32 = block.shape_known && block.dtype == rules::kFloat32;
    if (block.shape_known && !float32) continue;
    const bool surely = float32 && (of_the_model(replay_block.category) || block.optimizer);
    double least = 0.5, most = 0.5;
    if (!surely) {
      const Upcast upcast = float32 ? upcasts.at(block.place()) : Upcast::possible;
      const bool saved = block.past_backward && !block.backward;
      if (upcast == Upcast::by_torch) {
        least = most = 1;
      } else if (upcast == Upcast::with_copy && saved) {
        // A product that is given the copy saves it.
        const OperationTraits* next = next_operation(operations, size_t(&replay_block - replay.blocks.data()));
        least = most = next != nullptr && next->dropout ? 1 : 1.5;
        if (unread.operation(block.place()) || (next != nullptr && next->unread)) {
          least = 1;
          replay.unread = true;
        }
      } else if (upcast != Upcast::none) {
        most = 1;
      }
      if (float32 && upcast != Upcast::by_torch && unread.operation(block.place())) {
        most = std::max(most, 1.0);
        replay.unread = true;
      }
      if (float32 && unread.line(block.place())) {
        least = 0.5;
        most = std::max(most, saved ? 1.5 : 1);
        replay.unread = true;
      }
    }
    replay_block.factor *= (least + most) / 2;
    replay_block.unsure = (most - least) / (most + least);
  }
}

}  // namespace tensorscope::analyzer::forecast
