// SPDX-License-Identifier: Apache-2.0
#include "support/helper_thread.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "support/ended_threads.h"
#include "support/locks/futex.h"
#include "support/private_descriptor_table.h"
#include "support/programs_side.h"
#include "support/signals_blocked.h"
#include "support/state.h"

namespace tensorscope {

namespace {

bool make_thread(size_t stack_bytes, void* (*function)(void*), void* argument, pthread_t* thread) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, stack_bytes);
  if (thread == nullptr) pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t started;
  const SignalsBlocked inherited;
  const bool made = pthread_create(thread != nullptr ? thread : &started, &attributes, function, argument) == 0;
  pthread_attr_destroy(&attributes);
  return made;
}

// What a thread with a table of its own is to do, until it has the table.
struct OwnStart {
  enum : uint32_t { kBegins, kHasTable, kHasNone };
  void* (*function)(void*);
  void* argument;
  bool copied;  // the thread was made with a copy of the program's table
  std::atomic<uint32_t> stage{kBegins};
};

void* run_with_own_table(void* start) {
  auto& own = *static_cast<OwnStart*>(start);
  void* (*const function)(void*) = own.function;
  void* const argument = own.argument;
  if (own.copied) adopt_copied_descriptors();
  const bool has = take_private_descriptors();
  own.stage.store(has ? OwnStart::kHasTable : OwnStart::kHasNone, std::memory_order_release);
  futex_wake(own.stage);  // it may be gone by now, and nothing is read there
  return has ? function(argument) : nullptr;
}

bool make_with_own_table(size_t stack_bytes, OwnStart& own, pthread_t* thread) {
  pthread_t made_thread;
  bool made = false;
  const auto make = [&] { made = make_thread(stack_bytes, run_with_own_table, &own, &made_thread); };
  if (own.copied) {
    run_with_private_descriptors(make);
  } else {
    make();
  }
  if (!made) return false;
  while (own.stage.load(std::memory_order_acquire) == OwnStart::kBegins) futex_wait(own.stage, OwnStart::kBegins);
  const bool has = own.stage.load(std::memory_order_acquire) == OwnStart::kHasTable;
  if (!has) pthread_join(made_thread, nullptr);
  if (has && thread == nullptr) pthread_detach(made_thread);
  if (has && thread != nullptr) *thread = made_thread;
  return has;
}

}  // namespace

bool start_helper_thread(size_t stack_bytes, void* (*function)(void*), void* argument, pthread_t* thread,
                         Descriptors descriptors) {
  if (descriptors == Descriptors::of_maker) return make_thread(stack_bytes, function, argument, thread);
  bool made = false;
  if (descriptors == Descriptors::of_program) {
    run_on_programs_side([&] { made = make_thread(stack_bytes, function, argument, thread); });
    return made;
  }
  for (const bool copied : {false, true}) {
    OwnStart own{function, argument, copied};
    made = made || make_with_own_table(stack_bytes, own, thread);
  }
  return made;
}

HelperThreadScope::HelperThreadScope(const char* name) {
  ++t_inside;  // permanently
  pthread_setname_np(pthread_self(), name);
}

HelperThreadScope::~HelperThreadScope() { note_thread_end(pid_t(syscall(SYS_gettid))); }

}  // namespace tensorscope
