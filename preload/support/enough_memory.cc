// SPDX-License-Identifier: Apache-2.0
#include "support/enough_memory.h"

#include <alloca.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <atomic>
#include <new>

#include "support/pages.h"
#include "support/stack_bounds.h"

namespace tensorscope {

namespace {

constexpr size_t kStackBytes = size_t{512} << 10;
constexpr size_t kGuardBytes = 4096;
constexpr size_t kKeptForCaller = size_t{64} << 10;  // of the thread's stack, below the work's part of it

struct Work {
  explicit Work(FunctionRef<void()> function) : function(function) {}

  FunctionRef<void()> function;
  Work* outer = nullptr;
  UndoneScope* scopes = nullptr;  // those that stood when the work began
  bool left = false;
  bool memory_is_short = false;
  ucontext_t caller, own;
};

constinit thread_local Work* t_work = nullptr;
constinit thread_local UndoneScope* t_innermost = nullptr;
constinit thread_local MemoryLimit* t_limit = nullptr;

// Mapped once, permanently: what was served from it may live on. One word: how many bytes of it are allocated, and how
// many pieces of them are in use; with the last piece all of it is free again.
class Reserve {
 public:
  void map() {
    if (pages_.load(std::memory_order_acquire) != nullptr) return;
    void* fresh = map_pages(kMemoryReserveBytes);
    if (fresh == nullptr) return;
    char* none = nullptr;
    if (!pages_.compare_exchange_strong(none, static_cast<char*>(fresh), std::memory_order_acq_rel)) {
      unmap_pages(fresh, kMemoryReserveBytes);
    }
  }
  bool has(const void* memory) const {
    const char* pages = pages_.load(std::memory_order_acquire);
    return pages != nullptr && memory >= pages && memory < pages + kMemoryReserveBytes;
  }
  void* take(size_t bytes) {
    char* pages = pages_.load(std::memory_order_acquire);
    if (pages == nullptr || bytes > kMemoryReserveBytes) return nullptr;
    const uint64_t size = (bytes + kAlignment - 1) & ~(kAlignment - 1);
    uint64_t before = state_.load(std::memory_order_relaxed);
    do {
      if ((before & kUsed) + size > kMemoryReserveBytes) return nullptr;
    } while (!state_.compare_exchange_weak(before, before + kPiece + size, std::memory_order_acq_rel));
    return pages + (before & kUsed);
  }
  void give_back() {
    uint64_t before = state_.load(std::memory_order_relaxed);
    uint64_t after;
    do {
      after = before - kPiece < kPiece ? 0 : before - kPiece;
    } while (!state_.compare_exchange_weak(before, after, std::memory_order_acq_rel));
  }

 private:
  static constexpr uint64_t kAlignment = 16, kPiece = uint64_t{1} << 32, kUsed = kPiece - 1;
  std::atomic<char*> pages_{nullptr};
  std::atomic<uint64_t> state_{0};
};
constinit Reserve g_reserve;
constinit std::atomic<void* (*)(size_t)> g_source{nullptr};

void* from_system(size_t bytes) {
  auto* const source = g_source.load(std::memory_order_relaxed);
  void* memory = source == nullptr ? malloc(bytes) : source(bytes);
  if (memory != nullptr && t_limit != nullptr) t_limit->add(int64_t(bytes));
  return memory;
}

void begin_work() { t_work->function(); }

bool stack_has_room() {
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  const StackBounds stack = stack_of_this_thread();
  return here > stack.low && here < stack.high && here - stack.low > kStackBytes + kKeptForCaller;
}

// The last unused one is kept: some work is short and frequent.
class MappedStack {
 public:
  MappedStack() : pages_(g_kept.exchange(nullptr, std::memory_order_acquire)) {
    if (pages_ != nullptr || (pages_ = static_cast<char*>(map_pages(kBytes))) == nullptr) return;
    mprotect(pages_, kGuardBytes, PROT_NONE);
  }
  ~MappedStack() {
    if (pages_ == nullptr) return;
    char* none = nullptr;
    if (!g_kept.compare_exchange_strong(none, pages_, std::memory_order_acq_rel)) unmap_pages(pages_, kBytes);
  }
  MappedStack(const MappedStack&) = delete;
  MappedStack& operator=(const MappedStack&) = delete;
  char* lowest() const { return pages_ == nullptr ? nullptr : pages_ + kGuardBytes; }

 private:
  static constexpr size_t kBytes = kStackBytes + kGuardBytes;
  static constinit std::atomic<char*> g_kept;
  char* pages_;
};
constinit std::atomic<char*> MappedStack::g_kept{nullptr};

bool run_on(char* stack, Work& work) {
  work.outer = t_work;
  work.scopes = t_innermost;
  if (getcontext(&work.own) != 0) return false;
  work.own.uc_stack.ss_sp = stack;
  work.own.uc_stack.ss_size = kStackBytes;
  work.own.uc_link = &work.caller;
  makecontext(&work.own, begin_work, 0);
  t_work = &work;
  const bool ran = swapcontext(&work.caller, &work.own) == 0;
  t_work = work.outer;
  return ran && !work.left;
}

__attribute__((noinline)) bool run_on_part_of_stack(Work& work) {
  return run_on(static_cast<char*>(alloca(kStackBytes)), work);
}

}  // namespace

UndoneScope::UndoneScope() : outer_(t_innermost) { t_innermost = this; }
UndoneScope::~UndoneScope() { t_innermost = outer_; }

// Leaves the calling thread's work permanently. Returns where there is none.
void memory_ran_out_in_work() {
  Work* const work = t_work;
  if (work == nullptr) return;
  while (t_innermost != work->scopes) {
    UndoneScope* const scope = t_innermost;
    t_innermost = scope->outer_;
    scope->undo();
  }
  work->left = true;
  setcontext(&work->caller);
}

bool run_or_abandon_on_oom(FunctionRef<void()> function, WorkStack stack) {
  g_reserve.map();
  Work work(function);
  if (stack == WorkStack::of_thread) return stack_has_room() && run_on_part_of_stack(work);
  const MappedStack mapped;
  return mapped.lowest() != nullptr && run_on(mapped.lowest(), work);
}

bool memory_is_short() {
  return (t_work != nullptr && t_work->memory_is_short) || (t_limit != nullptr && t_limit->reached());
}

MemoryLimit::MemoryLimit(uint64_t bytes) : bytes_(bytes) { t_limit = this; }
MemoryLimit::~MemoryLimit() { t_limit = nullptr; }
MemoryLimit* MemoryLimit::current() { return t_limit; }

void set_source_of_memory_for_test(void* (*source)(size_t)) { g_source.store(source); }

namespace {

void* take(size_t bytes) {
  if (void* memory = from_system(bytes == 0 ? 1 : bytes)) return memory;
  for (Work* work = t_work; work != nullptr; work = work->outer) work->memory_is_short = true;
  if (void* memory = g_reserve.take(bytes)) return memory;
  memory_ran_out_in_work();
  abort();  // outside of any work: nobody handles it
}

void give_back(void* memory, size_t bytes) {
  if (memory == nullptr) return;
  if (g_reserve.has(memory)) return g_reserve.give_back();
  if (t_limit != nullptr) t_limit->add(-int64_t(bytes));
  free(memory);
}

}  // namespace

}  // namespace tensorscope

// Hidden, as all that exports.map does not list: libstdc++ is linked statically, and the program's own are not touched.
// Classes and containers pass the size when they free; without it a limit counts the memory as taken.
void* operator new(size_t bytes) { return tensorscope::take(bytes); }
void* operator new[](size_t bytes) { return tensorscope::take(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return tensorscope::from_system(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return tensorscope::from_system(bytes); }
void operator delete(void* memory) noexcept { tensorscope::give_back(memory, 0); }
void operator delete[](void* memory) noexcept { tensorscope::give_back(memory, 0); }
void operator delete(void* memory, size_t bytes) noexcept { tensorscope::give_back(memory, bytes); }
void operator delete[](void* memory, size_t bytes) noexcept { tensorscope::give_back(memory, bytes); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { tensorscope::give_back(memory, 0); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { tensorscope::give_back(memory, 0); }
