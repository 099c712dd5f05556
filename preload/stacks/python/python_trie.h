// SPDX-License-Identifier: Apache-2.0
// The trie of Python frames: a stack is the id of its innermost frame. Bytecode positions are kept; lines are decoded
// when a dump is written.
//
// Context: intern() in hooks; the rest anywhere. Lock-free where the frame is known, one spin lock where it is new.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stacks/append_list.h"
#include "stacks/id_index.h"
#include "support/ids.h"
#include "support/locks/spin_lock.h"

namespace tensorscope::stacks {

class PythonTrie {
 public:
  struct Node {
    StackId parent;
    uint32_t code;
    int32_t offset;  // of the instruction in the bytecode, in bytes; negative: the frame has not begun
    uint32_t entry;  // outermost Python frame of its native interpreter call
    uint64_t module_object;
    bool operator==(const Node&) const = default;
  };

  constexpr explicit PythonTrie(Arena& arena) : arena_(arena) {}

  // 0: no memory within the limit.
  StackId intern(const Node& node);

  const Node& operator[](StackId id) { return nodes_[id]; }
  size_t size() { return nodes_.size(); }  // 0 while empty, else ids 1 .. size()-1; 0 is the sentinel

 private:
  StackId find(uint32_t hash, const Node& node);

  Arena& arena_;
  SpinLock lock_;
  AppendList<Node, 2048, 32768> nodes_;
  IdIndex index_;
};

}  // namespace tensorscope::stacks
