// SPDX-License-Identifier: Apache-2.0
// torch::autograd::impl::set_gradient_edge(const Tensor&, Edge) (torch/csrc/autograd/variable.h) and the destructor of
// torch::autograd::Node (torch/csrc/autograd/function.h); the constructors of torch::autograd::SavedVariable
// (torch/csrc/autograd/saved_variable.h).
#include "hooks/hook.h"
#include "hooks/torch/current_node.h"
#include "live/tracker.h"
#include "torch_events/saved_tensors.h"

namespace tensorscope {

namespace {

using torch_events::saves_are_followed;
using torch_events::tensor_is_saved;
const void* first_word(Word address) { return *reinterpret_cast<const void* const*>(address); }
}  // namespace

// A Tensor is one word, its TensorImpl. The Edge comes by invisible reference; its first word is the Node, in a
// shared_ptr (torch 2.6) as in an intrusive_ptr (2.14). The function consumes the Edge, so it is read before.
Word hook_gradient_edge_set(HOOK_PARAMETERS) {
  if (Event event(Subject::autograd); event) {
    hooks::start_current_node();
    live::gradient_edge_set(first_word(a), first_word(b));
  }
  return real(Hook::gradient_edge_set)(HOOK_ARGUMENTS);
}

Word hook_node_destroyed(HOOK_PARAMETERS) {
  if (Event event(Subject::autograd); event) live::node_destroyed(reinterpret_cast<const void*>(a));
  return real(Hook::node_destroyed)(HOOK_ARGUMENTS);
}

Word hook_saved_tensor(HOOK_PARAMETERS) {
  if (saves_are_followed()) tensor_is_saved(first_word(b));
  return real(Hook::saved_tensor)(HOOK_ARGUMENTS);
}

// std::optional<Tensor>: the tensor, and behind it whether there is one.
Word hook_saved_optional(HOOK_PARAMETERS) {
  if (saves_are_followed() && reinterpret_cast<const bool*>(b)[sizeof(void*)]) {
    tensor_is_saved(first_word(b));
  }
  return real(Hook::saved_optional)(HOOK_ARGUMENTS);
}

}  // namespace tensorscope
