#include "stacks/python_stack.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "stacks/python_check.h"
#include "stacks/python_code_table.h"
#include "stacks/python_interpreter.h"
#include "stacks/python_line_table.h"
#include "stacks/python_trie.h"
#include "stacks/python_walk.h"
#include "support/coverage.h"
#include "support/options.h"
#include "support/pages.h"

namespace tensorscope::stacks {

namespace {

constexpr size_t kDeepest = 2048;      // frames of one stack; what is outside becomes PythonCodeTable::kLeftOut
constexpr size_t kTypeOffset = 8;      // PyObject.ob_type
constexpr size_t kDeallocOffset = 48;  // PyTypeObject.tp_dealloc, 3.8 to 3.14 (Include/cpython/object.h)

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
constinit std::atomic<Status> g_status{Status::searching};
constinit std::atomic<bool> g_checked{false};
constinit SpinLock g_start_lock;
// What the coverage record says, one text a state: a reader may hold an older one.
constinit char g_detail[160] = "", g_checked_detail[160] = "", g_off_detail[160] = "";

// ---- The thread's last stack: what is still the same needs no look-up.
// -------------------------------------------------

struct KnownFrame {
  const char* code;
  uint64_t position;
  uint64_t module_object;
  StackId node;
  ModuleCall call;
};

struct ThreadStack {
  uint64_t generation;
  size_t depth;
  bool left_out;                  // frames beyond kDeepest
  KnownFrame known[kDeepest];     // outermost first
  RawFrame walked[kDeepest + 1];  // innermost first
  ThreadStack* next;
};

thread_local ThreadStack* t_stack = nullptr;
constinit SpinLock g_spare_lock;
constinit ThreadStack* g_spare = nullptr;
constinit std::atomic<uint64_t> g_thread_stack_bytes{0};
constinit pthread_key_t g_thread_end;
constinit bool g_thread_end_known = false;

void give_back(void* stack) {
  SpinGuard guard(g_spare_lock);
  t_stack = nullptr;
  if (!guard) return;
  auto* spare = static_cast<ThreadStack*>(stack);
  spare->next = g_spare;
  g_spare = spare;
}

ThreadStack* take_spare() {
  SpinGuard guard(g_spare_lock);
  if (!guard || g_spare == nullptr) return nullptr;
  ThreadStack* stack = g_spare;
  g_spare = stack->next;
  stack->depth = 0;
  return stack;
}

ThreadStack* new_thread_stack() {
  ThreadStack* stack = take_spare();
  if (stack == nullptr) {
    stack = static_cast<ThreadStack*>(map_pages(sizeof(ThreadStack)));
    if (stack == nullptr) return nullptr;
    g_thread_stack_bytes.fetch_add(sizeof(ThreadStack), std::memory_order_relaxed);
  }
  if (g_thread_end_known) pthread_setspecific(g_thread_end, stack);
  t_stack = stack;
  return stack;
}

// ---- Capture
// -----------------------------------------------------------------------------------------------------------

uint64_t module_object(const RawFrame& raw, ModuleCall call, const KnownFrame* caller) {
  const void* object = nullptr;
  if (call == ModuleCall::wrapped) {
    object = first_local(g_interpreter.layout, raw.frame, nullptr);
  } else if (call == ModuleCall::plain && (caller == nullptr || caller->call != ModuleCall::wrapped)) {
    object = first_local(g_interpreter.layout, raw.frame, g_interpreter.api.cell_type);
  }
  return reinterpret_cast<uintptr_t>(object);
}

bool is_code(const char* object) {
  const char* type;
  std::memcpy(&type, object + kTypeOffset, sizeof type);
  return type == g_interpreter.api.code_type;
}

// Looks the frame up in the tables. False: they are full.
bool intern_frame(const RawFrame& raw, const KnownFrame* caller, StackId parent, KnownFrame& known) {
  known = {raw.code, raw.position, 0, parent, ModuleCall::none};
  if (raw.code == nullptr || !is_code(raw.code)) return true;  // runs no Python code: its caller's node stands for it
  uint32_t code = g_codes.find(raw.code, g_interpreter.layout);
  if (code == 0) code = g_codes.add(raw.code, g_interpreter.layout);
  if (code == 0) return false;
  known.call = g_codes[code].call;
  known.module_object = module_object(raw, known.call, caller);
  known.node = g_trie.intern({parent, code, raw.offset(g_interpreter.layout), raw.entry(), known.module_object});
  return known.node != 0;
}

// How many of the outermost frames are those of the thread's last stack.
size_t common_depth(const ThreadStack& stack, size_t depth) {
  size_t limit = std::min(depth, stack.depth), common = 0;
  const RawFrame* raw = stack.walked + depth;
  for (const KnownFrame* known = stack.known; common < limit; ++common, ++known) {
    --raw;
    if (raw->code != known->code || raw->position != known->position) break;
    if (known->call != ModuleCall::none &&
        module_object(*raw, known->call, common == 0 ? nullptr : known - 1) != known->module_object) {
      break;
    }
  }
  return common;
}

StackId capture_frames(const char* thread_state) {
  ThreadStack* stack = t_stack;
  if (stack == nullptr && (stack = new_thread_stack()) == nullptr) {
    count_missed(Subject::python_stacks);
    return 0;
  }
  bool left_out = false;
  const size_t depth = walk_frames(g_interpreter.layout, thread_state, stack->walked, kDeepest, left_out);
  if (depth == 0) return 0;
  const uint64_t generation = g_codes.generation();
  if (stack->generation != generation || stack->left_out != left_out) stack->depth = 0;
  stack->generation = generation;
  stack->left_out = left_out;

  size_t at = common_depth(*stack, depth);
  StackId parent = at == 0 ? 0 : stack->known[at - 1].node;
  if (at == 0 && left_out) parent = g_trie.intern({0, PythonCodeTable::kLeftOut, 0, 1, 0});
  for (; at < depth; ++at) {
    const KnownFrame* caller = at == 0 ? nullptr : &stack->known[at - 1];
    if (!intern_frame(stack->walked[depth - 1 - at], caller, parent, stack->known[at])) {
      stack->depth = at;
      count_missed(Subject::python_stacks);
      return 0;
    }
    parent = stack->known[at].node;
  }
  stack->depth = depth;
  return parent;
}

StackId capture_unguarded() {
  PyObject* thread_state = g_interpreter.api.this_thread_state();
  return thread_state == nullptr ? 0 : capture_frames(reinterpret_cast<const char*>(thread_state));
}

// ---- Start
// -------------------------------------------------------------------------------------------------------------

void switch_python_off(const char* why) {
  snprintf(g_off_detail, sizeof g_off_detail, "CPython %s: %s", g_interpreter.version_text, why);
  set_coverage(Subject::python_stacks, Seen::no, g_off_detail);
  g_status.store(Status::off, std::memory_order_release);
}

bool accept(Agreement agreement) {
  if (agreement == Agreement::no) {
    switch_python_off("its frames are not where this version of tensorscope expects them");
    return false;
  }
  if (agreement == Agreement::yes && !g_checked.exchange(true)) {
    snprintf(g_checked_detail, sizeof g_checked_detail, "CPython %s, compared with the interpreter's own account",
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
// remember by a code object's address becomes void. A static type, so one aligned store.
using Dealloc = void (*)(PyObject*);
Dealloc g_dealloc = nullptr;

void dealloc_code(PyObject* code) {
  g_codes.forget(code);
  g_dealloc(code);
}

void watch_deallocations() {
  auto* slot = reinterpret_cast<std::atomic<Dealloc>*>(const_cast<char*>(g_interpreter.api.code_type) + kDeallocOffset);
  g_dealloc = slot->load();
  slot->store(&dealloc_code);
}

}  // namespace

bool start_python() {
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
      switch_python_off("the frames of this version are not known to tensorscope (it knows 3.8 to 3.14 with the GIL)");
      return false;
    case Found::incomplete:
      switch_python_off("it does not export the functions that are needed to read its frames");
      return false;
    case Found::yes:
      break;
  }
  g_thread_end_known = pthread_key_create(&g_thread_end, give_back) == 0;
  watch_deallocations();
  snprintf(g_detail, sizeof g_detail, "CPython %s, not yet compared with the interpreter's own account",
           g_interpreter.version_text);
  set_coverage(Subject::python_stacks, Seen::yes, g_detail);
  g_status.store(Status::unproven, std::memory_order_release);
  return prove(true) != Status::off;
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

StackId capture_python() {
  Status status = g_status.load(std::memory_order_acquire);
  if (status == Status::on) return capture_unguarded();
  if (status != Status::unproven) return 0;
  SpinGuard guard(g_start_lock);
  return guard && prove(false) == Status::on ? capture_unguarded() : 0;
}

size_t python_frame_count() { return std::max(g_trie.size(), size_t{1}); }

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

uint64_t python_memory() { return g_arena.bytes() + g_thread_stack_bytes.load(std::memory_order_relaxed); }

void python_after_fork_in_child() {
  g_codes.after_fork_in_child();
  g_trie.after_fork_in_child();
  g_spare_lock.unlock();
  g_start_lock.unlock();
}

}  // namespace tensorscope::stacks
