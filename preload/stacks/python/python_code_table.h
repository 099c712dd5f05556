// SPDX-License-Identifier: Apache-2.0
// The code objects that were seen on a stack, copied at first sight: file, name, first line and line table. A code
// object may be freed and its address used again, so an address stands for its copy only until the code object is
// deallocated: the interpreter's own deallocation informs us (python_interpreter.cc). Equal code objects share one id,
// so that a program that compiles the same source again and again does not grow the table.
//
// Context: find() and add() in hooks, GIL not needed, for code objects that a frame of the calling thread keeps alive;
// forget() in the deallocation, with the GIL; the rest anywhere. Lock-free but for add(), which takes one spin lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "stacks/append_list.h"
#include "stacks/id_index.h"
#include "stacks/python/python_layout.h"
#include "stacks/python/python_text.h"
#include "support/locks/spin_lock.h"

namespace tensorscope::stacks {

// What torch's call wrapper a code object is (torch/nn/modules/module.py): its first local is the nn.Module.
enum class ModuleCall : uint8_t { none, wrapped, plain };  // _wrapped_call_impl; _call_impl

class PythonCodeTable {
 public:
  // Ids. 0 is not a code object: the outer frames of a stack that is too deep.
  static constexpr uint32_t kLeftOut = 0;
  // Nor is 1: what stands for the whole stack while no stacks are recorded.
  static constexpr uint32_t kStopped = 1;

  struct Code {
    const char* file;
    const char* name;
    const uint8_t* line_table;
    uint32_t line_table_size;
    int32_t first_line;
    ModuleCall call;
  };

  constexpr explicit PythonCodeTable(Arena& arena) : arena_(arena) {}

  // Id of the code object at this address, 0 if it is not known.
  uint32_t find(const void* code, const PythonLayout& layout) const;
  // Copies it. 0: no memory within the limit.
  uint32_t add(const void* code, const PythonLayout& layout);
  // Makes the ids that are no code objects; add() does, too. False: no memory within the limit.
  bool make_reserved();
  // The code object at this address is about to be freed.
  void forget(const void* code);
  // Changes whenever a known code object was freed: what was remembered by address before is void.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  const Code& operator[](uint32_t id);
  size_t size();

 private:
  // One address. `code` is 0 while no known code object lives there.
  struct AddressEntry {
    const void* address = nullptr;
    std::atomic<uint32_t> fields{0};  // hash of the code object's own pointers to its file, name and line table
    std::atomic<uint32_t> code{0};
    AddressEntry() = default;
    AddressEntry(const AddressEntry& other) { *this = other; }
    AddressEntry& operator=(const AddressEntry& other) {
      if (this == &other) return *this;
      address = other.address;
      fields.store(other.fields.load(std::memory_order_relaxed), std::memory_order_relaxed);
      code.store(other.code.load(std::memory_order_relaxed), std::memory_order_relaxed);
      return *this;
    }
  };
  struct Raw;
  static Raw read(const void* code, const PythonLayout& layout);
  uint32_t find_place(const void* code) const;
  uint32_t find_equal(uint32_t hash, const Raw& raw);
  uint32_t copy(uint32_t hash, const Raw& raw) REQUIRES(lock_);
  bool ensure_first() REQUIRES(lock_);

  Arena& arena_;
  SpinLock lock_;
  mutable AppendList<AddressEntry, 1024, 16384> places_;
  AppendList<Code, 1024, 16384> codes_;
  IdIndex by_address_;
  IdIndex by_content_;
  std::atomic<uint64_t> generation_{0};
};

}  // namespace tensorscope::stacks
