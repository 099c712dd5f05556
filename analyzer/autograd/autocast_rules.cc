// SPDX-License-Identifier: Apache-2.0
#include "autograd/autocast_rules.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

namespace tensorscope::analyzer {

namespace {

struct Rules {
  std::string_view operation;
  CastRule on_device, on_cpu;
};

constexpr CastRule kFollows = CastRule::follows, kLower = CastRule::lower, kFloat32 = CastRule::float32;

// For devices the lists of aten/src/ATen/autocast_mode.h of torch 2.13.0 and 2.14.1, for a CPU those of
// autocast_mode.cpp of its main branch (commit 008ec6b1840c). Torch 2.2 had the lists for devices in autocast_mode.cpp,
// without `upsample_*` (pull request 121324) and `rms_norm`. The last block has operations that run inside of the
// others, as native stacks and nodes name them.
constexpr auto kRules = std::to_array<Rules>({
    {"_convolution", kLower, kLower},
    {"conv1d", kLower, kLower},
    {"conv2d", kLower, kLower},
    {"conv3d", kLower, kLower},
    {"conv_tbc", kLower, kLower},
    {"conv_transpose1d", kLower, kLower},
    {"conv_transpose2d", kLower, kLower},
    {"conv_transpose3d", kLower, kLower},
    {"convolution", kLower, kLower},
    {"prelu", kLower, kLower},
    {"addmm", kLower, kLower},
    {"_addmm_activation", kLower, kLower},
    {"addmv", kLower, kLower},
    {"addr", kLower, kFollows},
    {"matmul", kLower, kLower},
    {"einsum", kLower, kLower},
    {"mm", kLower, kLower},
    {"mv", kLower, kLower},
    {"linalg_vecdot", kLower, kLower},
    {"linear", kLower, kLower},
    {"addbmm", kLower, kLower},
    {"baddbmm", kLower, kLower},
    {"bmm", kLower, kLower},
    {"chain_matmul", kLower, kLower},
    {"linalg_multi_dot", kLower, kLower},
    {"lstm_cell", kLower, kFollows},
    {"gru_cell", kLower, kFollows},
    {"rnn_tanh_cell", kLower, kFollows},
    {"rnn_relu_cell", kLower, kFollows},
    {"mkldnn_rnn_layer", kFollows, kLower},
    {"scaled_dot_product_attention", kLower, kLower},

    {"acos", kFloat32, kFollows},
    {"asin", kFloat32, kFollows},
    {"cosh", kFloat32, kFollows},
    {"erfinv", kFloat32, kFollows},
    {"exp", kFloat32, kFollows},
    {"expm1", kFloat32, kFollows},
    {"log", kFloat32, kFollows},
    {"log10", kFloat32, kFollows},
    {"log2", kFloat32, kFollows},
    {"log1p", kFloat32, kFollows},
    {"reciprocal", kFloat32, kFollows},
    {"rsqrt", kFloat32, kFollows},
    {"sinh", kFloat32, kFollows},
    {"tan", kFloat32, kFollows},
    {"pow", kFloat32, kFollows},
    {"softplus", kFloat32, kFollows},
    {"layer_norm", kFloat32, kFollows},
    {"native_layer_norm", kFloat32, kFollows},
    {"rms_norm", kFloat32, kFollows},
    {"group_norm", kFloat32, kFollows},
    {"frobenius_norm", kFloat32, kFollows},
    {"nuclear_norm", kFloat32, kFollows},
    {"cosine_similarity", kFloat32, kFollows},
    {"poisson_nll_loss", kFloat32, kFloat32},
    {"cosine_embedding_loss", kFloat32, kFloat32},
    {"nll_loss", kFloat32, kFloat32},
    {"nll_loss2d", kFloat32, kFloat32},
    {"hinge_embedding_loss", kFloat32, kFloat32},
    {"kl_div", kFloat32, kFloat32},
    {"l1_loss", kFloat32, kFloat32},
    {"smooth_l1_loss", kFloat32, kFloat32},
    {"huber_loss", kFloat32, kFloat32},
    {"mse_loss", kFloat32, kFloat32},
    {"margin_ranking_loss", kFloat32, kFloat32},
    {"multilabel_margin_loss", kFloat32, kFloat32},
    {"soft_margin_loss", kFloat32, kFloat32},
    {"triplet_margin_loss", kFloat32, kFloat32},
    {"multi_margin_loss", kFloat32, kFloat32},
    {"binary_cross_entropy_with_logits", kFloat32, kFloat32},
    {"dist", kFloat32, kFollows},
    {"pdist", kFloat32, kFollows},
    {"cdist", kFloat32, kFloat32},
    {"renorm", kFloat32, kFollows},
    {"logsumexp", kFloat32, kFollows},
    {"upsample_nearest1d", kFloat32, kFollows},
    {"upsample_nearest2d", kFloat32, kFollows},
    {"upsample_nearest3d", kFloat32, kFollows},
    {"upsample_linear1d", kFloat32, kFollows},
    {"upsample_bilinear2d", kFloat32, kFollows},
    {"upsample_trilinear3d", kFloat32, kFollows},
    {"upsample_bicubic2d", kFloat32, kFollows},
    {"prod", kFloat32, kFloat32},
    {"softmax", kFloat32, kFollows},
    {"log_softmax", kFloat32, kFollows},
    {"cumprod", kFloat32, kFollows},
    {"cumsum", kFloat32, kFollows},
    {"linalg_vector_norm", kFloat32, kFollows},
    {"linalg_matrix_norm", kFloat32, kFollows},
    {"sum", kFloat32, kFollows},
    {"norm", kFloat32, kFollows},

    {"binary_cross_entropy", kFollows, kFloat32},
    {"ctc_loss", kFollows, kFloat32},
    {"avg_pool3d", kFollows, kFloat32},
    {"max_pool3d", kFollows, kFloat32},
    {"adaptive_avg_pool3d", kFollows, kFloat32},
    {"adaptive_max_pool3d", kFollows, kFloat32},
    {"fractional_max_pool2d", kFollows, kFloat32},
    {"fractional_max_pool3d", kFollows, kFloat32},
    {"max_unpool2d", kFollows, kFloat32},
    {"max_unpool3d", kFollows, kFloat32},
    {"reflection_pad1d", kFollows, kFloat32},
    {"reflection_pad2d", kFollows, kFloat32},
    {"replication_pad1d", kFollows, kFloat32},
    {"replication_pad2d", kFollows, kFloat32},
    {"replication_pad3d", kFollows, kFloat32},
    {"grid_sampler", kFollows, kFloat32},
    {"stft", kFollows, kFloat32},
    {"trace", kFollows, kFloat32},
    {"quantile", kFollows, kFloat32},
    {"inverse", kFollows, kFloat32},
    {"cholesky", kFollows, kFloat32},
    {"linalg_inv", kFollows, kFloat32},
    {"linalg_solve", kFollows, kFloat32},
    {"linalg_cholesky", kFollows, kFloat32},
    {"linalg_svd", kFollows, kFloat32},
    {"linalg_qr", kFollows, kFloat32},
    {"linalg_eigh", kFollows, kFloat32},

    {"cross_entropy_loss", kFloat32, kFloat32},
    {"nll_loss_nd", kFloat32, kFloat32},
    {"nll_loss_forward", kFloat32, kFloat32},
    {"native_group_norm", kFloat32, kFollows},
    {"fused_rms_norm", kFloat32, kFollows},
    {"_thnn_fused_lstm_cell", kLower, kFollows},
    {"_thnn_fused_gru_cell", kLower, kFollows},
    {"_cudnn_rnn", kLower, kFollows},
    {"miopen_rnn", kLower, kFollows},
    {"prelu_kernel", kLower, kLower},
    {"scaled_dot_product_efficient_attention", kLower, kLower},
    {"scaled_dot_product_flash_attention", kLower, kLower},
    {"scaled_dot_product_flash_attention_for_cpu", kLower, kLower},
    {"scaled_dot_product_cudnn_attention", kLower, kLower},
});

// Names of nodes have no underscores: "LogSoftmax", "NllLoss2D".
std::string folded(std::string_view name) {
  std::string result;
  for (char c : name) {
    if (c != '_') result += char(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return result;
}

CastRule rule_of(const Rules& rules, bool cpu) { return cpu ? rules.on_cpu : rules.on_device; }

}  // namespace

CastRule cast_rule(std::string_view operation, bool cpu) {
  const auto found = std::ranges::find(kRules, operation, &Rules::operation);
  return found == kRules.end() ? CastRule::follows : rule_of(*found, cpu);
}

CastRule cast_rule_of_node(std::string_view node, bool cpu) {
  static const auto* by_name = [] {
    auto* names = new std::unordered_map<std::string, const Rules*>;
    for (const Rules& rules : kRules) names->emplace(folded(rules.operation), &rules);
    return names;
  }();
  const auto found = by_name->find(folded(node.substr(0, node.find("Backward"))));
  return found == by_name->end() ? CastRule::follows : rule_of(*found->second, cpu);
}

bool computes_float32(std::string_view operation, bool cpu) {
  if (operation.starts_with('_')) operation.remove_prefix(1);
  for (std::string_view ending : {"_data", "_backward"}) {
    if (operation.ends_with(ending)) operation.remove_suffix(ending.size());
  }
  return cast_rule(operation, cpu) == CastRule::float32;
}

}  // namespace tensorscope::analyzer
