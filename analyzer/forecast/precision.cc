#include "forecast/precision.h"

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

bool dropout_follows(const Operations& operations, uint32_t index) {
  return index + 1 < operations.all.size() && operations.all[index + 1].traits.dropout;
}

}  // namespace

void in_half(Play& play, const Sample& base) {
  Upcasts upcasts(base);
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
        const uint32_t index = operations.of_piece[size_t(&piece - play.pieces.data())];
        least = most = index != kNone && dropout_follows(operations, index) ? 1 : 1.5;
      } else if (upcast != Upcast::none) {
        most = 1;
      }
    }
    piece.factor *= (least + most) / 2;
    piece.unsure = (most - least) / (most + least);
  }
}

}  // namespace tensorscope::analyzer::forecast
