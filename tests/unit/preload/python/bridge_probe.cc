// SPDX-License-Identifier: Apache-2.0
// A door to the bridge for tests that run inside an interpreter: a Python program opens this library with ctypes.CDLL,
// so that any CPython can be tested, with or without torch. Every function is called without the GIL, as the collector
// would.
#include <cstdio>
#include <cstring>
#include <string>
#include <unordered_set>

#include "live/tensor_serial.h"
#include "python/bridge.h"
#include "python/exit_dump.h"
#include "python/interpreter.h"
#include "stacks/python/python_interpreter.h"
#include "stacks/python/python_stack.h"
#include "support/coverage.h"
#include "support/fresh_in_child.h"
#include "support/layout_fields.h"
#include "support/locks/lock_word.h"
#include "support/options.h"

#define PROBE extern "C" __attribute__((visibility("default")))

using namespace tensorscope;

namespace {
std::unordered_set<const void*> g_tensors;
}

namespace {

// In place of an exit dump: one line on standard error.
void write_exit_line() {
  const python::ReleasedGil released;
  const python::Names names = python::look_at_program({5000, 5000, UINT64_MAX}, {}).names;
  fprintf(stderr, "exit dump with %zu modules: %s\n", names.modules.size(), names.complete ? "complete" : names.detail);
}

}  // namespace

// 1 once the bridge has done with the interpreter what it does when torch appears.
PROBE int probe_attach() {
  parse_options();
  python::set_exit_dump(write_exit_line);
  return python::attach();
}

// One line for the result ("complete" or "partial", then the detail), then one for each module: address, class, path.
PROBE const char* probe_names(unsigned timeout_ms) {
  static thread_local std::string text;
  const python::Names names = python::look_at_program({timeout_ms, timeout_ms, UINT64_MAX}, {}).names;
  text = std::string(names.complete ? "complete" : "partial") + "\t" + names.detail + "\n";
  for (const python::ModuleName& module : names.modules) {
    text += std::to_string(module.object) + "\t" + module.class_name + "\t" + module.path + "\n";
  }
  return text.c_str();
}

// What stands for live tensors in a program without torch. The address is the serial.
PROBE void probe_register_tensor(const void* impl) { g_tensors.insert(impl); }

namespace tensorscope::live {
Serial tensor_serial(const void* impl) { return g_tensors.count(impl) ? reinterpret_cast<uintptr_t>(impl) : 0; }
}  // namespace tensorscope::live

// As probe_names(), then one line for each reference: address, root, scope, text.
PROBE const char* probe_references(unsigned timeout_ms) {
  static thread_local std::string text;
  const python::References found = python::look_at_program({timeout_ms, timeout_ms, UINT64_MAX}, {}).references;
  text = std::string(found.complete ? "complete" : "partial") + "\t" + found.detail + "\n";
  for (const format::Reference& row : found.references) {
    const std::string root = format::EnumNameReferenceRoot(row.root());
    text += std::to_string(row.tensor()) + "\t" + (root == "class_" ? "class" : root) + "\t" +
            std::string(found.strings[row.scope()]) + "\t" + std::string(found.strings[row.text()]) + "\n";
  }
  return text.c_str();
}

// "arenas in_use detail" of Python's own heap.
PROBE const char* probe_heap(unsigned timeout_ms) {
  static thread_local std::string text;
  const python::PythonHeap heap = python::look_at_program({timeout_ms, timeout_ms, UINT64_MAX}, {}).heap;
  text = std::to_string(heap.arenas) + " " + std::to_string(heap.in_use) + " " + heap.detail;
  return text.c_str();
}

// As the handlers of the preload do (hooks/process/fork.cc): a thread that is not in the child may have held a lock.
PROBE void probe_after_fork_in_child() {
  forget_locks_in_child();
  FreshInChild::make_all_anew();
}

// "name value" of each field; nothing where the layout is not known.
PROBE const char* probe_layout() {
  static thread_local std::string text;
  stacks::PythonInterpreter interpreter;
  text.clear();
  if (stacks::find_interpreter(interpreter) != stacks::Found::yes) return "";
  for (const testing::LayoutField& field : testing::kLayoutFields)
    text += std::string(field.name) + " " + std::to_string(field.get(interpreter.layout)) + "\n";
  return text.c_str();
}

// Makes one field wrong, before anything else is asked.
PROBE void probe_change_layout(const char* name, long value) { testing::change_layout(name, value); }

// What the coverage record says of Python stacks, then "file line function" of each frame of the calling thread.
PROBE const char* probe_stack() {
  static thread_local std::string text;
  const CoverageEntry& entry = coverage(Subject::python_stacks);
  const char* detail = entry.detail.load();
  text = std::string(entry.seen == Seen::yes ? "yes" : "no") + "\t" + (detail ? detail : "") + "\n";
  for (StackId id = stacks::capture_python(); id != 0; id = stacks::python_frame(id).parent) {
    const stacks::PythonFrame frame = stacks::python_frame(id);
    const stacks::PythonCode code = stacks::python_code(frame.code);
    text += std::string(code.file) + "\t" + std::to_string(frame.line) + "\t" + code.name + "\n";
  }
  return text.c_str();
}
