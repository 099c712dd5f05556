// SPDX-License-Identifier: Apache-2.0
#include "python/exit_dump.h"

#include <sys/resource.h>

#include <atomic>
#include <cstring>

#include "live/serials.h"
#include "live/snapshot_view.h"
#include "live/tracker.h"
#include "python/method.h"
#include "python/objects.h"
#include "stacks/python/python_stack.h"
#include "support/coverage.h"
#include "support/fresh_in_child.h"
#include "support/options.h"
#include "support/process_info.h"
#include "support/program_name.h"
#include "torch/metadata/torch_functions.h"

namespace tensorscope::python {

namespace {

std::atomic<bool> g_claimed{false};
std::atomic<WriteExitDump> g_write{[] {}};
std::atomic<bool> g_forked{false};
FreshInChild g_fresh_exit{[] {
  g_claimed.store(false, std::memory_order_release);
  g_forked.store(true, std::memory_order_release);
}};
std::atomic<const Object*> g_function{nullptr};

// What the command lines of other processes hold that libraries start as helpers of a program: Inductor's compile
// workers and trials of the processor (torch/_inductor/compile_worker/subproc_pool.py, cpu_vec_isa.py, 2.13) and the
// manager of the file_system sharing strategy (torch/bin, 2.13).
constexpr const char* kHelperMarks[] = {"/torch/_inductor/compile_worker/",
                                        "\nfrom ctypes import cdll\ncdll.LoadLibrary(", "torch_shm_manager"};

bool helper_of_a_library() {
  const ProcessInfo& process = process_info();
  if (is_helper_process(process.command_line, process.command_line_size)) return true;
  const char* const end = process.command_line + process.command_line_size;
  for (const char* argument = process.command_line; argument < end; argument += strlen(argument) + 1) {
    for (const char* mark : kHelperMarks) {
      if (strstr(argument, mark)) return true;
    }
  }
  return false;
}

// A launcher (torchrun, accelerate): it has hardly made a tensor, and processes that it started have done the work.
bool launched_others() {
  constexpr Serial kHardlyAny = 16;  // `import torch` makes two
  struct rusage children = {};
  if (const void* none = torch::undefined_tensor()) live::untrack_tensor(none);
  return live::nothing_is_alive() && live::newest_serial() < kHardlyAny && getrusage(RUSAGE_CHILDREN, &children) == 0 &&
         children.ru_maxrss > 0;
}

// Any child of multiprocessing, whatever the start method, knows its parent (multiprocessing/process.py, 3.8 to 3.14).
bool child_of_multiprocessing(const Gil& gil) {
  Object* parent = entry(gil, module_globals(gil, "multiprocessing.process"), "_parent_process");
  return parent && parent != gil->_Py_NoneStruct;
}

// Called by Python's atexit, on the main thread, with the GIL.
Object* at_exit(Object*, Object*) {
  stacks::forget_thread_state();
  const Api& api = *known_interpreter();
  const Gil gil = Gil::held(api);
  const bool child = options().exit == ExitDump::automatic && child_of_multiprocessing(gil);
  if (claim_exit_dump() && !child) {
    g_write.load(std::memory_order_acquire)();
  }
  return new_none(api);
}

MethodDefinition g_at_exit = {"tensorscope_exit_dump", at_exit, kNoArguments, nullptr};

}  // namespace

void set_exit_dump(WriteExitDump write) { g_write.store(write, std::memory_order_release); }

bool claim_exit_dump() {
  if (g_claimed.exchange(true, std::memory_order_acq_rel)) return false;
  switch (options().exit) {
    case ExitDump::always:
      return true;
    case ExitDump::never:
      return false;
    case ExitDump::automatic:
      return !g_forked.load(std::memory_order_acquire) && !helper_of_a_library() && !launched_others();
  }
  return false;
}

bool register_exit_dump(const Gil& gil) {
  // torch imports atexit only after it has loaded its libraries.
  if (!module_globals(gil, "atexit")) {
    const Owned imported(gil, gil->PyImport_ImportModuleLevel("atexit", nullptr, nullptr, nullptr, 0));
  }
  // Only a function written in C is called: a program may have put one of its own in its place.
  Object* function = builtin_function(gil, "atexit", "register");
  bool registered = false;
  if (function) {
    const Owned callback(gil, gil->PyCFunction_NewEx(&g_at_exit, nullptr, nullptr));
    const Owned result(gil, callback ? gil->PyObject_CallFunctionObjArgs(function, callback.get(), nullptr) : nullptr);
    registered = bool(result);
    if (registered) g_function.store(callback.get(), std::memory_order_relaxed);
  }
  if (options().exit != ExitDump::never)
    set_coverage(Subject::exit_trigger, registered ? Seen::yes : Seen::partly,
                 registered ? "" : "atexit could not be used: exit dumps have no names");
  return registered;
}

const Object* exit_dump_function() { return g_function.load(std::memory_order_relaxed); }

void exit_dump_comes_late() {
  if (options().exit == ExitDump::never) return;
  set_coverage(Subject::exit_trigger, Seen::partly,
               "written after this interpreter has ended: what its variables held is gone by then");
}

}  // namespace tensorscope::python
