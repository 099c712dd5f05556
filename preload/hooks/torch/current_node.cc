#include "hooks/torch/current_node.h"

#include <atomic>
#include <cstdint>

#include "live/recorder.h"
#include "support/loaded_object.h"

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

template <typename Pointer>
const void* current_node() {
  const Pointer pointer = reinterpret_cast<Pointer (*)()>(g_get_current_node)();
  return pointer.node;
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
  g_get_current_node = function;  // the same value whichever thread writes it
  live::set_current_node_function(intrusive ? current_node<IntrusiveNode> : current_node<SharedNode>);
  g_state.store(CurrentNode::known, std::memory_order_release);
}

}  // namespace

void start_current_node() {
  if (__builtin_expect(g_state.load(std::memory_order_relaxed) == CurrentNode::not_looked_for, false)) look_for_it();
}

CurrentNode current_node_state() { return g_state.load(std::memory_order_acquire); }

}  // namespace tensorscope::hooks
