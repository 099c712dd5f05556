// SPDX-License-Identifier: Apache-2.0
#include "torch_events/operation_kinds.h"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "support/locks/spin_lock.h"

namespace tensorscope::torch_events {

namespace {

using tensor_values::Bound;

// Sorted; without namespace and without the "_" of writing operations.
constexpr std::string_view kFinite[] = {
    "_fused_dropout",
    "arange",
    "bartlett_window",
    "bernoulli",
    "blackman_window",
    "eye",
    "hamming_window",
    "hann_window",
    "kaiser_window",
    "multinomial",
    "new_ones",
    "new_zeros",
    "normal",
    "one_hot",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "random",
    "randperm",
    "uniform",
    "zero",
    "zeros",
    "zeros_like",
};
constexpr std::string_view kCopied[] = {
    "_conj_physical",
    "_copy_from",
    "_reshape_copy",
    "_to_copy",
    "_unsafe_index",
    "_unsafe_index_put",
    "alias_copy",
    "as_strided_copy",
    "as_strided_scatter",
    "block_diag",
    "broadcast_tensors",
    "cat",
    "clone",
    "column_stack",
    "concat",
    "concatenate",
    "contiguous",
    "copy",
    "detach_copy",
    "diag",
    "diag_embed",
    "diagonal_copy",
    "diagonal_scatter",
    "embedding",
    "expand_copy",
    "flip",
    "fliplr",
    "flipud",
    "gather",
    "hstack",
    "im2col",
    "index",
    "index_copy",
    "index_put",
    "index_select",
    "masked_select",
    "pad_sequence",
    "permute_copy",
    "pin_memory",
    "pixel_shuffle",
    "pixel_unshuffle",
    "repeat",
    "repeat_interleave",
    "reshape",
    "roll",
    "rot90",
    "select_backward",
    "select_copy",
    "select_scatter",
    "slice_backward",
    "slice_copy",
    "slice_scatter",
    "split_copy",
    "split_with_sizes_copy",
    "squeeze_copy",
    "stack",
    "t_copy",
    "take",
    "take_along_dim",
    "tile",
    "to",
    "trace_copy",
    "transpose_copy",
    "tril",
    "triu",
    "type_as",
    "unbind_copy",
    "unfold_copy",
    "unsqueeze_copy",
    "view_copy",
    "vstack",
};
constexpr std::string_view kFilled[] = {
    "_pad_enum",  "clamp",    "clamp_max", "clamp_min",     "clip",        "constant_pad_nd",
    "fill",       "full",     "full_like", "index_fill",    "masked_fill", "masked_scatter",
    "nan_to_num", "new_full", "pad",       "scalar_tensor", "scatter",     "where",
};
constexpr std::string_view kUninitialised[] = {
    "_efficientzerotensor",
    "_empty_affine_quantized",
    "_resize_output",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_quantized",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "resize",
    "resize_as",
};

constexpr std::string_view kExternal[] = {"lift", "lift_fresh", "lift_fresh_copy", "set"};
constexpr std::string_view kUnchanged[] = {
    "as_strided", "detach", "rename", "requires_grad", "squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze",
};

struct Bounded {
  std::string_view name;
  Bound bound;
};
constexpr Bounded kBounded[] = {
    {"_log_softmax", Bound::log_softmax},
    {"_softmax", Bound::unit},
    {"abs", Bound::same},
    {"add", Bound::sum},
    {"bernoulli", Bound::mask},
    {"clone", Bound::largest},
    {"contiguous", Bound::largest},
    {"copy", Bound::largest},
    {"div", Bound::quotient},
    {"gelu", Bound::same},
    {"gelu_backward", Bound::derivative},
    {"mul", Bound::product},
    {"neg", Bound::same},
    {"pow", Bound::power},
    {"relu", Bound::same},
    {"sigmoid", Bound::unit},
    {"silu", Bound::same},
    {"silu_backward", Bound::derivative},
    {"square", Bound::square},
    {"sub", Bound::sum},
    {"tanh", Bound::unit},
    {"tanh_backward", Bound::tanh_backward},
};
static_assert(std::is_sorted(std::begin(kBounded), std::end(kBounded),
                             [](const Bounded& a, const Bounded& b) { return a.name < b.name; }));

Bound bound_by(std::string_view name) {
  const auto at = std::lower_bound(std::begin(kBounded), std::end(kBounded), name,
                                   [](const Bounded& entry, std::string_view name) { return entry.name < name; });
  return at != std::end(kBounded) && at->name == name ? at->bound : Bound::none;
}

template <size_t N>
constexpr bool sorted(const std::string_view (&names)[N]) {
  return std::is_sorted(std::begin(names), std::end(names));
}
static_assert(sorted(kFinite) && sorted(kCopied) && sorted(kFilled) && sorted(kUninitialised) && sorted(kExternal) &&
              sorted(kUnchanged));

template <size_t N>
bool is_one_of(std::string_view name, const std::string_view (&names)[N]) {
  return std::binary_search(std::begin(names), std::end(names), name);
}

ValueOrigin origin_of(std::string_view name) {
  if (is_one_of(name, kFinite)) return ValueOrigin::finite;
  if (is_one_of(name, kCopied)) return ValueOrigin::copied;
  if (is_one_of(name, kFilled)) return ValueOrigin::filled;
  if (is_one_of(name, kUninitialised)) return ValueOrigin::uninitialised;
  if (is_one_of(name, kExternal)) return ValueOrigin::external;
  if (is_one_of(name, kUnchanged)) return ValueOrigin::nothing;
  return ValueOrigin::computed;
}

// By address, which is that of a registered operation's own name; the text is compared, since an operation may go.
struct Seen {
  std::atomic<const char*> name{nullptr};
  uint64_t hash = 0;
  OperationKind kind;
};
constexpr size_t kSeen = 8192, kProbes = 16;
constinit Seen g_seen[kSeen];
constinit SpinLock g_adding_kind;

uint64_t hash_of(const char* name) {
  uint64_t hash = 0;
  for (size_t i = 0; name[i] != 0; ++i) hash = (hash ^ uint8_t(name[i])) * 0x100000001b3;
  return hash;
}

}  // namespace

OperationKind kind_of_name(std::string_view name) {
  OperationKind kind;
  kind.foreign = !name.starts_with("aten::");
  if (const size_t colon = name.rfind(':'); colon != name.npos) name.remove_prefix(colon + 1);
  if (name == "_amp_foreach_non_finite_check_and_unscale_") kind.checks_scale = true;
  if (name == "_amp_update_scale_") kind.updates_scale = true;
  if (name.ends_with('_') && !name.ends_with("__")) {
    kind.writes = true;
    name.remove_suffix(1);
  }
  const bool each = name.starts_with("_foreach_");
  if (each) name.remove_prefix(9);
  kind.origin = origin_of(name);
  if (!each && !kind.foreign) kind.bound = bound_by(name);
  kind.replaces = kind.writes && (kind.origin == ValueOrigin::finite || name == "fill" || name == "copy");
  return kind;
}

const OperationKind& kind_of(const char* name) {
  const size_t start = size_t((reinterpret_cast<uint64_t>(name) >> 3) * 0x9E3779B97F4A7C15u >> 40);
  const uint64_t hash = hash_of(name);
  for (size_t probe = 0; probe < kProbes; ++probe) {
    const Seen& seen = g_seen[(start + probe) % kSeen];
    const char* known = seen.name.load(std::memory_order_acquire);
    if (known == nullptr) break;
    if (known == name && seen.hash == hash) return seen.kind;
  }
  static constexpr OperationKind kComputes;
  const SpinGuard guard(g_adding_kind);
  if (!guard) return kComputes;
  for (size_t probe = 0; probe < kProbes; ++probe) {
    Seen& seen = g_seen[(start + probe) % kSeen];
    const char* known = seen.name.load(std::memory_order_relaxed);
    if (known == name && seen.hash == hash) return seen.kind;
    if (known != nullptr) continue;
    seen.hash = hash;
    seen.kind = kind_of_name(name);
    seen.name.store(name, std::memory_order_release);
    return seen.kind;
  }
  return kComputes;
}

}  // namespace tensorscope::torch_events
