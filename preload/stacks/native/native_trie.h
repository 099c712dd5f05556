// SPDX-License-Identifier: Apache-2.0
// The trie of return addresses: a stack is the id of its innermost frame, a frame knows its caller's id. Insert-only.
//
// A node is found by (caller, address) in a hash table of growing levels: each level is an array of cache lines of four
// slots; a key belongs to one line of each level, and is in the first of these lines that had room when it came. A
// line is never emptied, so a free slot ends the search. One look-up is one cache line while the first level lasts.
//
// Context: `child` in hooks (lock-free, no malloc; a new level or chunk of nodes is one mmap, from a limited arena);
// the rest anywhere. Thread-safety: all of it. An id is published only after its node is written. If a thread is
// stopped between claiming a slot and publishing it, another may give the same frame a second id: a duplicate, never a
// wrong frame. Memory: 16 bytes a node and 16 a slot, from an arena under Options::max_memory; a level's untouched
// pages cost nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "stacks/native/native_frame.h"
#include "support/arena.h"

namespace tensorscope::stacks {

class NativeTrie {
 public:
  static constexpr size_t kChunkNodes = size_t{1} << 16;
  static constexpr size_t kMaxChunks = 4096;
  static constexpr int kLevels = 5;

  constexpr NativeTrie() = default;
  NativeTrie(const NativeTrie&) = delete;
  NativeTrie& operator=(const NativeTrie&) = delete;

  // The node of the frame at `address` called from `parent` (0: outermost). 0 when the trie is full.
  StackId child(StackId parent, uint64_t address);

  // Ids are 0 (the sentinel) to count() - 1. A node that is being written reads as the sentinel.
  size_t count() const { return next_.load(std::memory_order_acquire); }
  NativeFrame frame(StackId id) const;

 private:
  struct Slot {
    std::atomic<uint64_t> address;  // 0: free; set first, by the thread that then sets `link`
    std::atomic<uint64_t> link;     // parent << 32 | id; 0: not yet published
  };
  struct alignas(64) Line {
    Slot slots[4];
  };
  struct Node {
    std::atomic<uint64_t> address;
    std::atomic<uint64_t> parent;
  };
  static constexpr int kLineBits[kLevels] = {13, 16, 18, 20, 22};

  Line* level(int index);
  Node* chunk(size_t index);
  // The nodes of a new stack come one after the other, so a node's first child mostly is the next number: one look at a
  // line that the node before it has brought. Both words are written once, so what is found is whole.
  bool is_child(StackId id, StackId parent, uint64_t address) const;
  StackId new_node(StackId parent, uint64_t address);

  std::atomic<Line*> levels_[kLevels] = {};
  std::atomic<Node*> chunks_[kMaxChunks] = {};
  std::atomic<uint32_t> next_{1};
  Arena arena_;
};

}  // namespace tensorscope::stacks
