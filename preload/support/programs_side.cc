// SPDX-License-Identifier: Apache-2.0
#include "support/programs_side.h"

#include "support/fresh_in_child.h"
#include "support/locks/futex.h"
#include "support/locks/mutex.h"
#include "support/private_descriptor_table.h"

namespace tensorscope {

namespace {

struct Errand {
  FunctionRef<void()> function;
  Errand* next = nullptr;
  std::atomic<uint32_t> done{0};
};

constinit Mutex g_errands_lock;  // guards the first two
struct ProgramsSide {
  Errand* errands = nullptr;
  bool serves = false;
  std::atomic<uint32_t> asked{0};  // changes with every errand
};
constinit ProgramsSide g_side;
FreshInChild g_fresh_side{g_side};  // the threads that waited, and the one that served, are the parent's

Errand* next_errand() {
  const MutexGuard guard(g_errands_lock);
  Errand* const first = g_side.errands;
  if (first != nullptr) g_side.errands = first->next;
  return first;
}

void run_errands() {
  while (Errand* errand = next_errand()) {
    errand->function();
    futex_change_and_wake(errand->done);  // from here on it may be gone
  }
}

void set_serving(bool serves) {
  const MutexGuard guard(g_errands_lock);
  g_side.serves = serves;
}

bool add_errand(Errand& errand) {
  const MutexGuard guard(g_errands_lock);
  if (!g_side.serves) return false;
  Errand** last = &g_side.errands;
  while (*last != nullptr) last = &(*last)->next;
  *last = &errand;
  return true;
}

}  // namespace

void open_programs_side() { set_serving(true); }

void serve_programs_side(const std::atomic<uint32_t>& ended) {
  for (;;) {
    const uint32_t seen = g_side.asked.load(std::memory_order_acquire);
    run_errands();
    if (ended.load(std::memory_order_acquire) != 0) break;
    futex_wait(g_side.asked, seen);
  }
  set_serving(false);
  run_errands();
}

void wake_programs_side() { futex_change_and_wake(g_side.asked); }

bool run_on_programs_side(FunctionRef<void()> function) {
  if (!has_private_descriptors()) {
    function();
    return true;
  }
  Errand errand{function};
  if (!add_errand(errand)) return false;
  wake_programs_side();
  while (errand.done.load(std::memory_order_acquire) == 0) futex_wait(errand.done, 0);
  return true;
}

void close_programs_side() { set_serving(false); }

}  // namespace tensorscope
