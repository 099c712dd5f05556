// SPDX-License-Identifier: Apache-2.0
#include "hooks/torch/current_node.h"

#include <atomic>
#include <cstdint>

#include "live/tracker.h"
#include "support/loaded_object.h"
#include "support/thread_pointer.h"

namespace tensorscope::hooks {

namespace {

constexpr char kGetCurrentNode[] = "_ZN5torch8autograd16get_current_nodeEv";
// The one that exists reports which smart pointer holds a Node in this torch (intrusive_ptr: 2.13; the two are
// alternatives in torch/csrc/autograd/saved_variable.h).
constexpr char kUnpackWithIntrusivePointer[] =
    "_ZNK5torch8autograd13SavedVariable6unpackEN3c1013intrusive_ptrINS0_4NodeENS2_6detail34"
    "intrusive_target_default_null_typeIS4_EEEE";
constexpr char kUnpackWithSharedPointer[] = "_ZNK5torch8autograd13SavedVariable6unpackESt10shared_ptrINS0_4NodeEE";

// Both are returned through a hidden buffer, since their destructors are not trivial, and hold a reference that the
// destructor drops. The engine holds its own while the node runs, so that one is never the last.

// c10::intrusive_ptr<Node> (c10/util/intrusive_ptr.h, 2.13): the 64-bit count is the word behind the vtable pointer,
// its lower half counts strong references.
struct IntrusiveNode {
  std::atomic<uint64_t>* node;
  ~IntrusiveNode() {
    if (node) node[1].fetch_sub(1, std::memory_order_acq_rel);
  }
};

// std::shared_ptr<Node> (libstdc++): the second word is the control block, its use count the int behind the vtable
// pointer.
struct SharedNode {
  const void* node;
  std::atomic<int32_t>* control;
  ~SharedNode() {
    if (control) control[2].fetch_sub(1, std::memory_order_acq_rel);
  }
};

void* g_get_current_node = nullptr;
std::atomic<CurrentNode> g_state{CurrentNode::not_looked_for};

constexpr uint32_t kAskEvery = 251;

struct ThisThread {
  const uintptr_t* node = nullptr;  // torch's variable; null: calls the function instead
  uint32_t asked = 0;
};
constinit thread_local ThisThread t_this;
constinit ThreadPointerFinder g_variable;
size_t g_tls_module = 0, g_tls_bytes = 0;  // of libtorch_cpu

[[gnu::noinline]] void learn_from(const void* node) {
  const auto said = reinterpret_cast<uintptr_t>(node);
  const int offset = g_variable.offset();
  t_this.node = nullptr;
  if (offset < 0 && !g_variable.wants(said)) return;
  const ThreadVariables variables = thread_variables(g_tls_module, g_tls_bytes);
  if (offset < 0) return g_variable.add(variables, said);
  if (variables.words[offset] != said) return g_variable.give_up();
  t_this.node = variables.words + offset;
}

template <typename Pointer>
[[gnu::noinline]] const void* ask() {
  const Pointer pointer = reinterpret_cast<Pointer (*)()>(g_get_current_node)();
  learn_from(pointer.node);
  return pointer.node;
}

template <typename Pointer>
const void* current_node() {
  const uintptr_t* const known = t_this.node;
  if (__builtin_expect(known != nullptr && ++t_this.asked % kAskEvery != 0, true)) {
    return reinterpret_cast<const void*>(*known);
  }
  return ask<Pointer>();
}

__attribute__((noinline, cold)) void look_for_it() {
  const LoadedObject torch = find_object("libtorch_cpu.so");
  if (!torch) return;
  void* function = torch.find(kGetCurrentNode);
  const bool intrusive = torch.find(kUnpackWithIntrusivePointer);
  const bool shared = torch.find(kUnpackWithSharedPointer);
  if (!function || intrusive == shared) {
    g_state.store(CurrentNode::unknown, std::memory_order_release);
    return;
  }
  g_get_current_node = function;  // the same values whichever thread writes them
  g_tls_module = torch.tls_module;
  g_tls_bytes = torch.tls_bytes;
  live::set_current_node_function(intrusive ? current_node<IntrusiveNode> : current_node<SharedNode>);
  g_state.store(CurrentNode::known, std::memory_order_release);
}

}  // namespace

void start_current_node() {
  if (__builtin_expect(g_state.load(std::memory_order_relaxed) == CurrentNode::not_looked_for, false)) look_for_it();
}

CurrentNode current_node_state() { return g_state.load(std::memory_order_acquire); }

}  // namespace tensorscope::hooks
