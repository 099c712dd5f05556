#include "forecast/precision.h"

#include <algorithm>

#include "forecast/operations.h"
#include "forecast/upcasts.h"
#include "tensorscope/rules/dtypes.h"

namespace tensorscope::analyzer::forecast {

namespace {

// What model.to(dtype) surely halves: the program itself casts no weights back.
bool of_the_model(Category category) {
  return category == Category::parameter || category == Category::buffer || category == Category::gradient ||
         category == Category::optimizer_state || category == Category::input_batch;
}

// The operation after that which made a piece; null: none.
const OperationTraits* next_operation(const Operations& operations, size_t piece) {
  const uint32_t index = operations.of_piece[piece];
  return index != kNone && index + 1 < operations.all.size() ? &operations.all[index + 1].traits : nullptr;
}

}  // namespace

void in_half(Play& play, const Sample& base) {
  Upcasts upcasts(base);
  UnreadStacks& unread = base.opened->places.unread();
  const Operations operations = operations_of(play, base);
  for (Piece& piece : play.pieces) {
    if (piece.block == kNone) {
      piece.factor *= 0.5;
      continue;
    }
    const Block& block = base.blocks[piece.block];
    // What a library works in on a device has the same size for all types (cuBLAS), or one of its own (cuDNN).
    if (!block.shape_known && !base.device.is_cpu() && !of_the_model(piece.category)) continue;
    const bool float32 = block.shape_known && block.dtype == rules::kFloat32;
    if (block.shape_known && !float32) continue;
    const bool surely = float32 && (of_the_model(piece.category) || block.optimizer);
    double least = 0.5, most = 0.5;
    if (!surely) {
      const Upcast upcast = float32 ? upcasts.at(block.place()) : Upcast::possible;
      const bool saved = block.past_backward && !block.backward;
      if (upcast == Upcast::by_torch) {
        least = most = 1;
      } else if (upcast == Upcast::with_copy && saved) {
        // A product that is given the copy saves it.
        const OperationTraits* next = next_operation(operations, size_t(&piece - play.pieces.data()));
        least = most = next != nullptr && next->dropout ? 1 : 1.5;
        if (unread.operation(block.place()) || (next != nullptr && next->unread)) {
          least = 1;
          play.unread = true;
        }
      } else if (upcast != Upcast::none) {
        most = 1;
      }
      if (float32 && upcast != Upcast::by_torch && unread.operation(block.place())) {
        most = std::max(most, 1.0);
        play.unread = true;
      }
      if (float32 && unread.line(block.place())) {
        least = 0.5;
        most = std::max(most, saved ? 1.5 : 1);
        play.unread = true;
      }
    }
    piece.factor *= (least + most) / 2;
    piece.unsure = (most - least) / (most + least);
  }
}

}  // namespace tensorscope::analyzer::forecast
