// SPDX-License-Identifier: Apache-2.0
// One capture of the calling thread's Python stack: the walk, the comparison with the thread's last stack, and the
// look-up of the frames that differ from it.
//
// Context: capture() in hooks, GIL not needed; prepare() as named. A constinit global; what is kept for a thread
// (some pages) goes to the next new thread when it ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "stacks/activation.h"
#include "stacks/python/python_check.h"
#include "stacks/python/python_code_table.h"
#include "stacks/python/python_interpreter.h"
#include "stacks/python/python_trie.h"
#include "stacks/python/python_walk.h"
#include "stacks/python/thread_state.h"
#include "support/ids.h"

namespace tensorscope::stacks {

class PythonCapture {
 public:
  constexpr PythonCapture(const PythonInterpreter& interpreter, PythonCodeTable& codes, PythonTrie& trie)
      : interpreter_(interpreter), codes_(codes), trie_(trie), thread_state_(interpreter.api) {}

  // Once, before the first capture. False: no key of thread-specific data is left, and nothing would tell when a
  // thread ends and what is kept for it may go.
  bool prepare();

  // 0: no Python frames on this thread, or (counted as missed) no memory for them.
  StackId capture();
  // Of the calling thread at its last capture that was not 0.
  static const Activation& last_activation();

  // Numbers of remembered stacks, and questions about them (remembered_stacks.h). Of the calling thread.
  static uint32_t last_number(StackId node);
  bool is_at(uint32_t number, StackId node);
  static const Activation& activation(uint32_t number);
  static void prefetch(uint32_t number);

  ThreadState& thread_state() { return thread_state_; }

  uint64_t thread_memory() const;

 private:
  // A frame of the last stack, with what the tables said of it.
  struct KnownFrame {
    const char* code;
    uint64_t position;
    uint64_t module_object;
    StackId node;
    ModuleCall call;
  };
  struct ThreadStack;
  static thread_local ThreadStack* t_stack;

  [[gnu::noinline]] static ThreadStack* new_thread_stack();
  static ThreadStack* take_spare();
  static void give_back(void* stack);

  uint64_t module_object(const RawFrame& raw, ModuleCall call, const KnownFrame* caller) const;
  bool has_sound_local(const RawFrame& raw);
  bool intern_frame(ThreadStack& stack, const RawFrame& raw, const KnownFrame* caller, StackId parent,
                    KnownFrame& known);
  size_t common_depth(const ThreadStack& stack, size_t depth) const;
  StackId capture_remembered(ThreadStack& stack, const char* thread_state);
  [[gnu::noinline]] StackId capture_other(ThreadStack& stack, const char* thread_state, const char* innermost,
                                          uint64_t generation);
  [[gnu::noinline]] StackId capture_into(ThreadStack& stack, const char* thread_state);

  const PythonInterpreter& interpreter_;
  PythonCodeTable& codes_;
  PythonTrie& trie_;
  ThreadState thread_state_;
  std::atomic<Agreement> locals_sound_{Agreement::nothing_to_compare};  // where variables are: looked at once
};

}  // namespace tensorscope::stacks
