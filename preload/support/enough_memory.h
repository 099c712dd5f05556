// SPDX-License-Identifier: Apache-2.0
// Work that may find no memory. This library is built without exceptions, so a failed `new` would end the program;
// inside run_or_abandon_on_oom() it costs the work instead, in two steps:
//
// 1. `new` is served from a reserve, and memory_is_short() is true from then on: work that checks it comes to its end
//    by itself, with what it has.
// 2. Where the reserve does not suffice either, the work is left where it is. It runs on a stack of its own, which is
//    given up with it: no frame is jumped over and no object of it is used again, so the memory it holds is lost.
//
// This library's own `operator new` and `operator delete` are here, too; the program's are not touched.
//
// Context: any thread but hooks and signal handlers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/function_ref.h"

namespace tensorscope {

// What must be undone also where work is left in the middle (a reference, a setting): on the stack, as any scope.
class UndoneScope {
 public:
  UndoneScope(const UndoneScope&) = delete;
  UndoneScope& operator=(const UndoneScope&) = delete;
  // Instead of the destructor, while the stack is still whole.
  virtual void undo() = 0;

 protected:
  UndoneScope();
  ~UndoneScope();

 private:
  friend void memory_ran_out_in_work();
  UndoneScope* outer_;
};

enum class WorkStack : uint8_t {
  mapped,  // pages of its own
  // A part of the calling thread's stack: CPython 3.14 ends the program where its functions are called on another one.
  of_thread,
};

// Calls `work` on another stack of half a megabyte. False: memory ran out, and the work was left where it was,
// or there was not even memory to begin. No destructor of its frames ran but for UndoneScopes: it must hold no lock
// where it allocates (neither the loader's, in dl_iterate_phdr), and what is its caller's it may change only where
// nothing is allocated meanwhile (a move at the end). May be nested: the innermost work is left.
bool run_or_abandon_on_oom(FunctionRef<void()> work, WorkStack stack = WorkStack::mapped);

// As all.reserve(), but `all` is only changed once there is memory: for what outlives the work.
template <typename T>
void make_room(std::vector<T>& all, size_t capacity) {
  if (capacity <= all.capacity()) return;
  std::vector<T> more;
  more.reserve(capacity);
  for (T& each : all) more.push_back(std::move(each));
  all.swap(more);
}
template <typename T>
void make_room_for_one(std::vector<T>& all) {
  if (all.size() == all.capacity()) make_room(all, all.size() * 2 + 16);
}

// Whether the calling thread's work should end soon: the reserve is in use, or a MemoryLimit is reached. Cheap.
bool memory_is_short();

// A limit, while it stands, for what `new` and PageArrays take on this thread. Beyond it PageArrays refuse to grow;
// `new` does not, but memory_is_short(). Not nested.
class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  uint64_t bytes() const { return bytes_; }
  uint64_t taken() const { return taken_ > 0 ? uint64_t(taken_) : 0; }
  uint64_t peak_taken() const { return uint64_t(most_); }

  // Of the calling thread, or null.
  static MemoryLimit* current();
  bool has_room(uint64_t more) const { return taken() + more <= bytes_; }
  bool reached() const { return taken() >= bytes_; }
  // What is freed may have been taken before the limit stood.
  void add(int64_t change) {
    taken_ += change;
    if (taken_ > most_) most_ = taken_;
  }

 private:
  uint64_t bytes_;
  int64_t taken_ = 0, most_ = 0;
};

// Where `new` gets its memory from; null: malloc.
void set_source_of_memory_for_test(void* (*source)(size_t));
inline constexpr size_t kMemoryReserveBytes = size_t{1} << 20;

}  // namespace tensorscope
