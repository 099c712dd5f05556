// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_stack.h"

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "stacks/native/native_stack.h"
#include "stacks/python/python_capture.h"
#include "stacks/python/python_check.h"
#include "stacks/python/python_code_table.h"
#include "stacks/python/python_interpreter.h"
#include "stacks/python/python_line_table.h"
#include "stacks/python/python_trie.h"
#include "support/coverage.h"
#include "support/fresh_in_child.h"
#include "support/options.h"
#include "tensorscope/rules/engine_call.h"

namespace tensorscope::stacks {

namespace {

constexpr size_t kDeallocOffset = 48;  // PyTypeObject.tp_dealloc, 3.8 to 3.15 (Include/cpython/object.h)

enum class Status : uint8_t {
  searching,
  unproven,  // there is an interpreter, but no frames to look at yet
  on,
  off,
};

constinit Arena g_arena;
constinit PythonCodeTable g_codes(g_arena);
constinit PythonTrie g_trie(g_arena);
constinit PythonInterpreter g_interpreter;
constinit PythonCapture g_capture(g_interpreter, g_codes, g_trie);
FreshInChild g_fresh_capture{[] { g_capture.thread_state().give_up(); }};  // from here on calls the interpreter
constinit std::atomic<Status> g_status{Status::searching};
constinit std::atomic<bool> g_checked{false};
constinit SpinLock g_start_lock;
// What the coverage record says, one text a state: a reader may hold an older one.
constinit char g_detail[160] = "", g_checked_detail[160] = "", g_off_detail[160] = "";

StackId capture_unguarded() { return g_capture.capture(); }

void switch_python_off(const char* why) {
  snprintf(g_off_detail, sizeof g_off_detail, "CPython %s: %s", g_interpreter.version_text, why);
  set_coverage(Subject::python_stacks, Seen::no, g_off_detail);
  g_status.store(Status::off, std::memory_order_release);
}

bool accept(Agreement agreement) {
  if (agreement == Agreement::no) {
    switch_python_off("its frames have an unexpected layout");
    return false;
  }
  if (agreement == Agreement::yes && !g_checked.exchange(true)) {
    snprintf(g_checked_detail, sizeof g_checked_detail, "CPython %s, checked against the interpreter",
             g_interpreter.version_text);
    set_coverage(Subject::python_stacks, Seen::yes, g_checked_detail);
    g_status.store(Status::on, std::memory_order_release);
  }
  return true;
}

// Under the start lock, with or without the GIL: looks at the calling thread's frames, if it has any. `ask`: also asks
// the interpreter, if this thread holds the GIL.
Status prove(bool ask) {
  switch (frames_look_sound(g_interpreter)) {
    case Agreement::nothing_to_compare:
      return Status::unproven;
    case Agreement::no:
      accept(Agreement::no);
      return Status::off;
    case Agreement::yes:
      break;
  }
  if (ask && holds_gil(g_interpreter.api) && !accept(compare_stack(g_interpreter, capture_unguarded)))
    return Status::off;
  g_status.store(Status::on, std::memory_order_release);
  return Status::on;
}

// The interpreter frees code objects through this slot of their type, with the GIL: the one moment at which what we
// remember by a code object's address becomes void. A static type, so one aligned store. The slot is ours already in a
// child that was forked while another thread was here.
using Dealloc = void (*)(PyObject*);
Dealloc g_dealloc = nullptr;

void dealloc_code(PyObject* code) {
  g_codes.forget(code);
  g_dealloc(code);
}

void watch_deallocations() {
  auto* slot = reinterpret_cast<std::atomic<Dealloc>*>(const_cast<char*>(g_interpreter.api.code_type) + kDeallocOffset);
  const Dealloc present = slot->load();
  if (present == &dealloc_code) return;
  g_dealloc = present;
  slot->store(&dealloc_code);
}

}  // namespace

bool start_python(bool ask) {
  Status status = g_status.load(std::memory_order_acquire);
  if (status != Status::searching) return status != Status::off;
  SpinGuard guard(g_start_lock);
  if (!guard) return false;
  status = g_status.load(std::memory_order_relaxed);
  if (status != Status::searching) return status != Status::off;
  if (!options().python_stacks) {
    set_coverage(Subject::python_stacks, Seen::no, "switched off by TENSORSCOPE_PYTHON");
    g_status.store(Status::off, std::memory_order_release);
    return false;
  }
  switch (find_interpreter(g_interpreter)) {
    case Found::none:
      set_coverage(Subject::python_stacks, Seen::not_applicable, "no Python interpreter in this process");
      return false;
    case Found::unsupported:
      switch_python_off("the frames of this version are unknown to tensorscope (it knows 3.8 to 3.15 with the GIL)");
      return false;
    case Found::free_threaded:
      switch_python_off("it is free-threaded, and tensorscope knows the frames of interpreters with the GIL alone");
      return false;
    case Found::incomplete:
      switch_python_off("it does not export the functions required to read its frames");
      return false;
    case Found::yes:
      break;
  }
  if (!g_capture.prepare()) {
    switch_python_off("no thread-specific data key is left");
    return false;
  }
  watch_deallocations();
  if (InterpreterCode code; find_interpreter_code(code)) native_trusts(code);
  snprintf(g_detail, sizeof g_detail, "CPython %s, not yet checked against the interpreter",
           g_interpreter.version_text);
  set_coverage(Subject::python_stacks, Seen::yes, g_detail);
  g_status.store(Status::unproven, std::memory_order_release);
  return prove(ask) != Status::off;
}

bool check_python_with_gil() {
  Status status = g_status.load(std::memory_order_acquire);
  if (status != Status::on && status != Status::unproven) return false;
  if (g_checked.load()) return true;
  Agreement agreement = compare_stack(g_interpreter, capture_unguarded);
  if (agreement == Agreement::nothing_to_compare) {
    agreement = compare_in_test_program(g_interpreter, capture_unguarded);
  }
  return accept(agreement);
}

void find_thread_state() {
  const Status status = g_status.load(std::memory_order_acquire);
  if (status == Status::on || status == Status::unproven) g_capture.thread_state().find();
}

void forget_thread_state() { g_capture.thread_state().give_up(); }

namespace {
[[gnu::noinline]] StackId prove_and_capture() {
  SpinGuard guard(g_start_lock);
  return guard && prove(false) == Status::on ? capture_unguarded() : 0;
}
}  // namespace

StackId capture_python() {
  const Status status = g_status.load(std::memory_order_acquire);
  if (__builtin_expect(status == Status::on, true)) return capture_unguarded();
  return status == Status::unproven ? prove_and_capture() : 0;
}

const Activation& last_activation() { return PythonCapture::last_activation(); }

uint32_t number_of_python(StackId stack) { return stack == 0 ? kNoNumber : PythonCapture::last_number(stack); }

bool python_is_at(uint32_t number, StackId stack) {
  if (__builtin_expect(number == kNoNumber, false)) return capture_python() == 0;
  return g_status.load(std::memory_order_acquire) == Status::on && g_capture.is_at(number, stack);
}

const Activation& activation_of_python(uint32_t number) {
  return number == kNoNumber ? kNoActivation : PythonCapture::activation(number);
}

void prefetch_python(uint32_t number) {
  if (__builtin_expect(number != kNoNumber, true)) PythonCapture::prefetch(number);
}

StackId not_recorded_stack() {
  static constinit std::atomic<StackId> known{0};
  StackId stack = known.load(std::memory_order_acquire);
  if (stack != 0 || !g_codes.make_reserved()) return stack;
  stack = g_trie.intern({0, PythonCodeTable::kStopped, -1, 1, 0});
  known.store(stack, std::memory_order_release);
  return stack;
}

size_t python_frame_count() { return std::max(g_trie.size(), size_t{1}); }

bool python_runs_engine(StackId id) {
  for (; id != 0 && id < g_trie.size(); id = g_trie[id].parent) {
    const PythonCodeTable::Code& code = g_codes[g_trie[id].code];
    if (code.file != nullptr && code.name != nullptr && code::runs_engine(code.file, code.name)) return true;
  }
  return false;
}

PythonFrame python_frame(StackId id) {
  if (id == 0 || id >= g_trie.size()) return {};
  const PythonTrie::Node& node = g_trie[id];
  const PythonCodeTable::Code& code = g_codes[node.code];
  int32_t line =
      decode_line(g_interpreter.layout.lines, {code.line_table, code.line_table_size}, code.first_line, node.offset);
  return {node.module_object, node.parent, node.code, line, node.entry != 0};
}

size_t python_code_count() { return g_codes.size(); }

PythonCode python_code(uint32_t id) {
  const PythonCodeTable::Code& code = g_codes[id];
  return {code.file, code.name, code.first_line};
}

bool python_names_are_qualified() { return g_interpreter.layout.qualified_names; }

const char* python_version() { return g_interpreter.version_text; }

uint64_t python_memory() { return g_arena.bytes() + g_capture.thread_memory(); }

}  // namespace tensorscope::stacks
