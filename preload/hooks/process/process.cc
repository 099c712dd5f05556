// SPDX-License-Identifier: Apache-2.0
// The dump of main's return and of exit() is written before the program's own exit handlers
// and static destructors run; a Python program has had its dump by then (python/bridge.h). At _exit
// only values that wait are written.
#include "hooks/process/process.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/collector.h"
#include "collector/log_flush.h"
#include "find_nan/find_nan.h"
#include "hooks/activation.h"
#include "hooks/attach.h"
#include "hooks/libc_function.h"
#include "hooks/process/seccomp.h"
#include "python/bridge.h"
#include "python/builtin_module.h"
#include "python/exit_dump.h"
#include "python/interpreter.h"
#include "recording/recording.h"
#include "support/call_filter.h"
#include "support/coverage.h"
#include "support/loaded_object.h"
#include "support/message.h"
#include "support/options.h"
#include "support/process_info.h"
#include "support/state.h"
#include "values_file/value_store.h"
#include "watch/api_values.h"
#include "watch/watch.h"

namespace tensorscope::hooks {

namespace {

using Main = int(int, char**, char**);
using StartMain = int(Main*, int, char**, int (*)(int, char**, char**), void (*)(), void (*)(), void*);

Main* g_main = nullptr;

// A torch that calls none of the functions that are hooked has woken nobody: the dump says that.
void wake_at_exit() {
  if (g_state.load(std::memory_order_acquire) == State::dormant && find_object("libc10.so")) wake(Subject::tensors);
}

void write_exit_dump(int status) {
  wake_at_exit();
  if (!activated() || !python::claim_exit_dump()) return;
  char detail[32];
  snprintf(detail, sizeof detail, "exit status %d", status & 0xff);
  collector::write_dump_and_wait(collector::Reason::exit, detail, nullptr, 0);
}

void finish_files() {
  watch::finish();
  recording::finish();
}

// What the profiler does at the end of the process: files are written by the collector, whose descriptors are its own.
void finish(int status) {
  write_exit_dump(status);
  if (!activated()) return;
  find_nan::finish_find_nan();
  watch::end_values();
  if (watch::values_are_taken() || recording::has_begun()) collector::run_at_the_end(finish_files);
  collector::finish_log();
}

int main_and_dump(int argc, char** argv, char** environment) {
  const int status = g_main(argc, argv, environment);
  finish(status);
  return status;
}

// Before main: an interpreter that is already loaded learns of the module `libtensorscope`.
__attribute__((constructor)) void at_load() {
  find_next_system_calls();
  remember_closed_standard_error();
  remember_call_filter();
  print_help_if_asked();
  watch::add_api_values_to_module();
  python::register_builtin_module();
}

}  // namespace

void start_exit_dump() {
  python::set_exit_dump(
      [] { collector::write_dump_and_wait(collector::Reason::exit, "end of the Python program", nullptr, 0); });
  // main may return to libc, which does not call exit() through a slot of ours.
  const bool at_exit = attached() && on_exit([](int status, void*) { write_exit_dump(status); }, nullptr) == 0;
  if (options().exit == ExitDump::never) {
    set_coverage(Subject::exit_trigger, Seen::no, "switched off by TENSORSCOPE_EXIT");
  } else if (g_main || at_exit) {
    set_coverage(Subject::exit_trigger, Seen::yes, "");
  } else {
    set_coverage(Subject::exit_trigger, Seen::partly,
                 "only exit() writes a dump: main was started without the preload's hook");
  }
}

}  // namespace tensorscope::hooks

#define EXPORTED extern "C" __attribute__((visibility("default")))

using namespace tensorscope::hooks;

// Every version of this symbol takes the same arguments (glibc csu/libc-start.c).
EXPORTED int __libc_start_main(Main* main, int argc, char** argv, int (*init)(int, char**, char**), void (*fini)(),
                               void (*loader_fini)(), void* stack_end) {
  static LibcFunction<StartMain> next;
  g_main = main;
  if (tensorscope::activated()) start_exit_dump();  // torch is linked in: its initialisers have run
  return next.get("__libc_start_main")(main_and_dump, argc, argv, init, fini, loader_fini, stack_end);
}

EXPORTED void exit(int status) noexcept {
  static LibcFunction<void(int)> next;
  finish(status);
  next.get("exit")(status);
  __builtin_unreachable();
}

namespace {

// In a child of vfork() the memory is still its parent's.
void flush_files() {
  if (tensorscope::activated() && uint32_t(getpid()) == tensorscope::process_info().pid) {
    tensorscope::values_file::flush_before_exit();
    tensorscope::recording::flush_before_exit();
    tensorscope::collector::finish_log_before_exit();
  }
}

}  // namespace

EXPORTED void _exit(int status) {
  static LibcFunction<void(int)> next;
  flush_files();
  next.get("_exit")(status);
  __builtin_unreachable();
}

EXPORTED void _Exit(int status) noexcept {
  static LibcFunction<void(int)> next;
  flush_files();
  next.get("_Exit")(status);
  __builtin_unreachable();
}

// Of a thread that waits for the GIL of an interpreter that ends (python/interpreter.h).
EXPORTED void pthread_exit(void* result) {
  static LibcFunction<void(void*)> next;
  while (tensorscope::python::StaysAtFinalization::is_so()) pause();
  next.get("pthread_exit")(result);
  __builtin_unreachable();
}
