#include "support/programs_side.h"

#include "support/futex.h"
#include "support/mutex.h"
#include "support/own_descriptors.h"

namespace tensorscope {

namespace {

struct Errand {
  void (*function)(void*);
  void* argument;
  Errand* next = nullptr;
  std::atomic<uint32_t> done{0};
};

constinit Mutex g_errands_lock;  // guards these two
constinit Errand* g_errands = nullptr;
constinit bool g_serves = false;
constinit std::atomic<uint32_t> g_asked{0};  // changes with every errand

Errand* next_errand() {
  const MutexGuard guard(g_errands_lock);
  Errand* const first = g_errands;
  if (first != nullptr) g_errands = first->next;
  return first;
}

void run_errands() {
  while (Errand* errand = next_errand()) {
    errand->function(errand->argument);
    futex_change_and_wake(errand->done);  // from here on it may be gone
  }
}

void set_serving(bool serves) {
  const MutexGuard guard(g_errands_lock);
  g_serves = serves;
}

bool add_errand(Errand& errand) {
  const MutexGuard guard(g_errands_lock);
  if (!g_serves) return false;
  Errand** last = &g_errands;
  while (*last != nullptr) last = &(*last)->next;
  *last = &errand;
  return true;
}

}  // namespace

void open_programs_side() { set_serving(true); }

void serve_programs_side(const std::atomic<uint32_t>& ended) {
  for (;;) {
    const uint32_t seen = g_asked.load(std::memory_order_acquire);
    run_errands();
    if (ended.load(std::memory_order_acquire) != 0) break;
    futex_wait(g_asked, seen);
  }
  set_serving(false);
  run_errands();
}

void wake_programs_side() { futex_change_and_wake(g_asked); }

bool run_on_programs_side(void (*function)(void*), void* argument) {
  if (!has_own_descriptors()) {
    function(argument);
    return true;
  }
  Errand errand{function, argument};
  if (!add_errand(errand)) return false;
  wake_programs_side();
  while (errand.done.load(std::memory_order_acquire) == 0) futex_wait(errand.done, 0);
  return true;
}

void reset_programs_side() {
  g_errands = nullptr;
  g_serves = false;
}

}  // namespace tensorscope
