#include "oom/autocast_types.h"

#include <algorithm>
#include <array>

#include "leaks/retention.h"
#include "symbols/user_code.h"

namespace tensorscope::analyzer::oom {

// From ATen/autocast_mode.h: operations that it runs in float32 on devices, by the nodes that save their inputs or
// results.
bool saves_float32(std::string_view node) {
  constexpr std::array<std::string_view, 17> kNodes = {"SoftmaxBackward",
                                                       "LogSoftmaxBackward",
                                                       "NativeLayerNormBackward",
                                                       "NativeGroupNormBackward",
                                                       "PowBackward",
                                                       "ExpBackward",
                                                       "LogBackward",
                                                       "Log1PBackward",
                                                       "RsqrtBackward",
                                                       "ReciprocalBackward",
                                                       "NllLoss",
                                                       "MseLossBackward",
                                                       "SmoothL1LossBackward",
                                                       "HuberLossBackward",
                                                       "KlDivBackward",
                                                       "SoftplusBackward",
                                                       "BinaryCrossEntropyWithLogitsBackward"};
  return std::ranges::any_of(kNodes, [&](std::string_view name) { return node.starts_with(name); });
}

bool makes_float32(std::string_view operation) {
  constexpr std::array<std::string_view, 16> kOperations = {"softmax",
                                                            "_softmax",
                                                            "_softmax_backward_data",
                                                            "log_softmax",
                                                            "_log_softmax",
                                                            "_log_softmax_backward_data",
                                                            "nll_loss",
                                                            "nll_loss_nd",
                                                            "nll_loss_forward",
                                                            "nll_loss_backward",
                                                            "nll_loss2d_backward",
                                                            "cross_entropy_loss",
                                                            "mse_loss",
                                                            "mse_loss_backward",
                                                            "binary_cross_entropy_with_logits",
                                                            "kl_div"};
  return std::ranges::find(kOperations, operation) != kOperations.end();
}

AutocastTypes::AutocastTypes(const View& view) : view_(view), saved_(view.dump.storages.size()) {
  const Dump& dump = view.dump;
  for (uint32_t node = 0; node < dump.graph.nodes.size(); ++node) {
    if (!saves_float32(dump.graph.class_name(node))) continue;
    for (const SavedSlot& slot : dump.graph.saved_of(node)) {
      if (!holds(slot) || slot.tensor == kNone) continue;
      if (const uint32_t storage = dump.tensors[slot.tensor].storage; storage != kNone) saved_[storage] = true;
    }
  }
}

bool AutocastTypes::saved_float32(const Item& item) const { return item.storage != kNone && saved_[item.storage]; }

bool AutocastTypes::made_float32(const Item& item) {
  const auto [found, fresh] = sites_.try_emplace(item.site);
  if (fresh) {
    found->second = std::ranges::any_of(view_.places.stack(item.site), [](const Frame& frame) {
      return makes_float32(code::dispatched_operation(frame.function));
    });
  }
  return found->second;
}

}  // namespace tensorscope::analyzer::oom
