// SPDX-License-Identifier: Apache-2.0
// The variables of functions, read from the interpreter's frames: of running ones, of generators that wait, of those
// that a traceback keeps. frame.f_locals cannot be used: up to CPython 3.12 reading it writes into the dict that
// the function's own locals() call returned, and keeps every value alive until the function returns.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "python/interpreter.h"

namespace tensorscope::python::heap_inspector {

// Context: heap inspector, once, before the first look. Calls a small function of our own and compares what is read
// with what it was called with. On a mismatch locals stay unread permanently. May give the GIL up meanwhile.
bool check_locals(const Gil& gil);

// What a code object says of its variables: one name a slot, in the order of the slots.
struct FunctionFacts {
  std::string name;  // qualified from CPython 3.11 on
  std::string file;
  std::vector<std::string> variables;
  std::vector<std::string> free_variables;
  size_t parameters = 0;
  size_t stack_slots = 0;  // after the variables: values of the evaluation that is going on
};

class Functions {
 public:
  explicit Functions(const Gil& gil) : gil_(gil) {}
  // Null: not a code object of the program.
  const FunctionFacts* of(Object* code);

 private:
  const Gil& gil_;
  std::unordered_map<const Object*, FunctionFacts> known_;
};

// A frame as the interpreter keeps it: a frame object up to 3.10, an _PyInterpreterFrame from 3.11 on.
struct Frame {
  const char* address = nullptr;
  Object* code = nullptr;
  ThreadState* thread = nullptr;  // that runs it, of running_frames()
};

// The object in a slot: null where the variable has no value. A variable that inner functions use is in a cell.
Object* slot_of(const Gil& gil, const Frame& frame, size_t slot);

// The first slot after the values that the evaluation works with, as far as the frame shows: else the last that there
// can be.
size_t end_of_values(const Frame& frame, const FunctionFacts& facts);

// A frame that the interpreter is working on: the innermost one of the calling thread, or the one at this address. The
// code is null where locals are not known.
Frame innermost_frame(const Gil& gil);
Frame frame_at(const void* address);

// The byte offset of the instruction in the bytecode; negative: the frame has not begun.
int offset_in(const Frame& frame);

// Every running function: threads in the order of their creation, outermost function first. Empty where locals are
// not known.
std::vector<Frame> running_frames(const Gil& gil);

// The frame behind a frame object; of a generator, coroutine or asynchronous generator (from 3.11 on: before, such a
// one refers to a frame object). False: there is none, or locals are not known.
bool frame_of_object(const Gil& gil, Object* frame_object, Frame& frame);
bool frame_of_generator(const Gil& gil, Object* generator, Frame& frame);

}  // namespace tensorscope::python::heap_inspector
