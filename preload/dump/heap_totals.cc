// SPDX-License-Identifier: Apache-2.0
#include "dump/heap_totals.h"

#include <malloc.h>

#include "support/clock.h"
#include "support/fresh_in_child.h"
#include "support/loaded_object.h"
#include "support/timed_thread.h"

namespace tensorscope::dump {

namespace {

constexpr uint64_t kWaitNs = 50'000'000;
constexpr uint64_t kLongNs = 5'000'000;  // the longest that a dump may hold up the program

using MallInfo = struct mallinfo2 (*)();
MallInfo g_mallinfo = nullptr;
AskHeap g_ask = nullptr;
// After a thread that hung, or a heap that took too long. Neither the thread nor its lock is in a forked child.
struct HeapPatience {
  bool never_again = false;
};
constinit HeapPatience g_patience;
FreshInChild g_fresh_patience{g_patience};

struct HeapQuestion : TimedThread::Shared {
  AskHeap ask;
  HeapTotals answer;
  uint64_t took_ns;
};

HeapTotals ask_malloc() {
  const struct mallinfo2 info = g_mallinfo();
  return {uint64_t{info.uordblks} + info.hblkhd, info.fordblks};
}

// The mallinfo2 of the very malloc that the program uses: where another one stands before libc's, libc's knows nothing.
MallInfo find_mallinfo() {
  void* found = nullptr;
  visit_objects([&](const LoadedObject& object) {
    if (object.find("malloc") == nullptr) return true;
    found = object.find("mallinfo2");
    return false;
  });
  return reinterpret_cast<MallInfo>(found);
}

void ask_on_this_thread(TimedThread::Shared& shared) {
  auto& question = static_cast<HeapQuestion&>(shared);
  // Of the processor: on a busy machine the wait for one says nothing about the heap.
  const uint64_t begin = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  question.answer = question.ask();
  question.took_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
}

// No lock: after a thread that hangs there is no other one.
constinit const TimedThread::Kind kHeapWork = {"tensorscope-heap", ask_on_this_thread, nullptr};

}  // namespace

HeapTotals read_heap_totals() {
  if (g_patience.never_again) return {};
  if (g_ask == nullptr) {
    g_mallinfo = find_mallinfo();
    g_ask = ask_malloc;
    g_patience.never_again = g_mallinfo == nullptr;
  }
  TimedThread thread;
  if (g_patience.never_again) return {};
  if (thread.prepare(kHeapWork, sizeof(HeapQuestion)) != TimedThread::Prepared::yes) return {};
  auto* question = thread.shared<HeapQuestion>();
  question->ask = g_ask;
  if (!thread.start(kWaitNs)) return {};
  g_patience.never_again = !thread.wait();
  if (g_patience.never_again) return {};
  g_patience.never_again = question->took_ns > kLongNs;
  return question->answer;
}

void set_heap_for_test(AskHeap ask) {
  g_ask = ask;
  g_patience.never_again = false;
}

}  // namespace tensorscope::dump
