#include "snapshot/heap_totals.h"

#include <malloc.h>
#include <pthread.h>

#include <atomic>

#include "support/clock.h"
#include "support/futex.h"
#include "support/helper_thread.h"
#include "support/loaded_object.h"
#include "support/state.h"

namespace tensorscope::snapshot {

namespace {

constexpr uint64_t kWaitNs = 50'000'000;
constexpr uint64_t kLongNs = 5'000'000;  // the longest that a dump may hold up the program
constexpr size_t kHeapStackBytes = size_t{256} << 10;

using MallInfo = struct mallinfo2 (*)();
MallInfo g_mallinfo = nullptr;
AskHeap g_ask = nullptr;
bool g_never_again = false;

std::atomic<uint32_t> g_answered{0};
HeapTotals g_answer;
uint64_t g_asked_for_ns = 0;

HeapTotals ask_malloc() {
  const struct mallinfo2 info = g_mallinfo();
  return {uint64_t{info.uordblks} + info.hblkhd, info.fordblks};
}

// The mallinfo2 of the very malloc that the program uses: where another one stands before libc's, libc's knows nothing.
MallInfo find_mallinfo() {
  void* found = nullptr;
  visit_objects(
      [](const LoadedObject& object, void* out) {
        if (object.find("malloc") == nullptr) return true;
        *static_cast<void**>(out) = object.find("mallinfo2");
        return false;
      },
      &found);
  return reinterpret_cast<MallInfo>(found);
}

void* ask_on_this_thread(void*) {
  ++t_inside;
  pthread_setname_np(pthread_self(), "tensorscope-heap");
  // Of the processor: on a busy machine the wait for one says nothing about the heap.
  const uint64_t begin = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  const HeapTotals answer = g_ask();
  g_asked_for_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
  g_answer = answer;
  g_answered.store(1, std::memory_order_release);
  futex_wake(g_answered);
  return nullptr;
}

bool wait_for_answer() {
  const uint64_t until = monotonic_ns() + kWaitNs;
  while (g_answered.load(std::memory_order_acquire) == 0) {
    if (!futex_wait_until(g_answered, 0, until)) return false;
  }
  return true;
}

}  // namespace

HeapTotals read_heap_totals() {
  if (g_never_again) return {};
  if (g_ask == nullptr) {
    g_mallinfo = find_mallinfo();
    g_ask = ask_malloc;
    g_never_again = g_mallinfo == nullptr;
  }
  pthread_t thread;
  g_answered.store(0, std::memory_order_relaxed);
  if (g_never_again || !start_helper_thread(kHeapStackBytes, ask_on_this_thread, nullptr, &thread)) return {};
  if (!wait_for_answer()) {
    g_never_again = true;  // also keeps a late answer from being taken for another question's
    pthread_detach(thread);
    return {};
  }
  pthread_join(thread, nullptr);
  g_never_again = g_asked_for_ns > kLongNs;
  return g_answer;
}

void set_heap_for_test(AskHeap ask) {
  g_ask = ask;
  g_never_again = false;
}

}  // namespace tensorscope::snapshot
