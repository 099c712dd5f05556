// SPDX-License-Identifier: Apache-2.0
// What the collector is asked for, and doing it: dumps for signals, at growth, near a limit and for a request file; a
// dump, or other work, for a thread that waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collector/dump_request.h"
#include "dump/failure.h"
#include "support/function_ref.h"

namespace tensorscope::collector {

struct Waiter {
  DumpRequest request;
  const FunctionRef<void()>* work = nullptr;  // instead of a dump
  char* path = nullptr;                       // where the dump's path is wanted
  size_t path_size = 0;
  bool ok = false;
  std::atomic<uint32_t> done{0};
  Waiter* next = nullptr;
};

enum class Job { none, stop, waiter, near_limit, signal, request, ancestor, growth };

// Context: collector, or the thread that stands in for it. Before a dump, what waits for the recording is written.
void do_work(Waiter& waiter);
// From here on the waiter may be gone.
void finish_waiting(Waiter& waiter);
DumpRequest near_limit_request(const dump::Failure& near);

// Context: collector.
Job counted_job();
void do_job(Job job, Waiter* waiter);
// Looks at the limits of memory and for a request file. True: there is something to do.
bool look_for_work();

// One more is asked for. Context: signal handler; hook.
void note_signal();
void note_growth();

// The function that writes a dump: write_dump() of write_dump.h, or what a test sets before start_collector().
using DumpFunction = bool (*)(const DumpRequest& request, char* path, size_t path_size);
void set_dump_function_for_test(DumpFunction function);

}  // namespace tensorscope::collector
