// SPDX-License-Identifier: Apache-2.0
// Python stacks: the interpreter's own frames read raw, on the thread that owns them and without the GIL; the table of
// code objects, copied at first sight; the trie of (code, instruction).
#pragma once

#include <cstddef>
#include <cstdint>

#include "stacks/activation.h"
#include "support/ids.h"

namespace tensorscope::stacks {

struct PythonFrame {
  uint64_t module_object;  // the nn.Module (`self`) of a _wrapped_call_impl frame (torch 1.x: _call_impl), else 0
  StackId parent;          // smaller than the own id
  uint32_t code;           // index into the code table
  int32_t line;            // decoded from the copied line table; 0: not known
  bool entry;              // outermost Python frame of its native interpreter call
};

struct PythonCode {
  const char* file;
  const char* name;  // qualified name where python_names_are_qualified()
  int32_t first_line;
};

// Context: activation or collector. Finds an initialised interpreter among the loaded objects, chooses the layout by
// its version and checks it. True once Python stacks are on; false: none here yet, or the layout is unknown (coverage
// says). `ask`: where this thread holds the GIL, a stack is compared with the interpreter's public API at once. Not on
// a thread that was stopped somewhere (attach): it may be in the middle of a change of Python's objects, and the answer
// is such an object.
bool start_python(bool ask = true);

// Context: with the GIL held (the bridge calls it once it has it). Compares one stack with the interpreter's public
// API, if start_python() could not; runs a few lines of Python of its own where this thread runs none. False: Python
// stacks are off.
bool check_python_with_gil();

// How stacks learn a thread's state without a call: context of ThreadState::find(), and only where
// forget_thread_state() is called before the interpreter ends.
void find_thread_state();
void forget_thread_state();

// Context: hook, GIL not needed. 0 when this thread has no Python state or Python stacks are off. The thread's last
// stack is remembered, so that only frames that differ from it are looked up. A stack deeper than 2048 frames ends, on
// the outer side, in a frame of code 0, "<outer frames not recorded>".
StackId capture_python();

// The calling thread's activation at its last capture that was not 0. Context: hook.
const Activation& last_activation();

// A remembered stack of the calling thread by its number (remembered_stacks.h). Context: hook.
//
// The one that capture_python() just said; kNoNumber: it has none, or there are no Python frames.
uint32_t number_of_python(StackId stack);
// Whether the stack that had this number and this node is the present one. With kNoNumber and 0: whether there is none.
[[gnu::noinline]] bool python_is_at(uint32_t number, StackId stack);
// Of a number with which python_is_at() was true.
const Activation& activation_of_python(uint32_t number);
void prefetch_python(uint32_t number);

// What stands for a stack while none are recorded: one frame of code 1. Context: hook. 0: no memory within the limit.
StackId not_recorded_stack();

// Whether a function of PyTorch's that runs autograd's engine is on this stack. Context: hook.
bool python_runs_engine(StackId id);

// Context: collector.
size_t python_frame_count();
PythonFrame python_frame(StackId id);
size_t python_code_count();
PythonCode python_code(uint32_t code);
const char* python_version();       // "3.11.7", "" while no interpreter is known
bool python_names_are_qualified();  // from 3.11 on
uint64_t python_memory();

}  // namespace tensorscope::stacks
