// SPDX-License-Identifier: Apache-2.0
// A room's state that is of one process: counts, marks, messages that appear once, requests and their senders. It is
// one object, which a forked child makes anew, so that no list of its fields can forget what is added later:
//
//     struct StepCounts {
//       std::atomic<uint32_t> steps{0};
//     };
//     constinit StepCounts g_step_counts;
//     FreshInChild g_fresh_step_counts{g_step_counts};
//
// What a child keeps stays outside of it: tables of what is alive, options, functions and layouts that were found, and
// buffers that mean nothing without a count in the state. tests/check_child_state.py has the list.
//
// Context: `make_all_anew()`: fork child, where no other thread is, all locks are free and no state is used yet. States
// are made anew in no particular order, so that none may ask another room.
#pragma once

#include <new>

namespace tensorscope {

// What the old state holds is left, not freed: a thread of the parent may have been in the middle of changing it.
template <typename State>
void make_anew(State& state) {
  new (&state) State();
}

class FreshInChild {
 public:
  template <typename State>
  explicit FreshInChild(State& state)
      : FreshInChild([](void* object) { make_anew(*static_cast<State*>(object)); }, &state) {}
  // For a state that is a thread's own, or begins with something that the child has to find out.
  explicit FreshInChild(void (*begin)())
      : FreshInChild([](void* function) { reinterpret_cast<void (*)()>(function)(); }, reinterpret_cast<void*>(begin)) {
  }
  FreshInChild(const FreshInChild&) = delete;
  FreshInChild& operator=(const FreshInChild&) = delete;

  static void make_all_anew();

 private:
  FreshInChild(void (*make)(void*), void* object);
  void (*make_)(void*);
  void* object_;
  FreshInChild* next_;
};

}  // namespace tensorscope
