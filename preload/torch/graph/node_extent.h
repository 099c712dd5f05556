// SPDX-License-Identifier: Apache-2.0
// How large the object of an autograd node is, as its allocator knows it: its class does not report, and what lies
// behind it is another object.
//
// glibc's malloc keeps the size in front of each block (malloc/malloc.c, "chunk"), where it can be read without the
// block being alive. Another allocator knows only blocks that are: nodes in the table, with their
// destructor held up, where torch reports when nodes die.
//
// Context: collector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "torch/metadata/object_class.h"

namespace tensorscope::torch {

class NodeExtents {
 public:
  // `deaths_are_told`: by this torch.
  NodeExtents(ObjectClasses& classes, bool deaths_are_told);

  // Whether the program's allocator reports at all.
  bool known() const { return glibc_ || usable_size_ != nullptr; }

  // Bytes from the node's address to the end of its block for each node, 0: not known. False: the system does not allow
  // reading.
  bool read(const std::vector<uint64_t>& nodes, std::vector<size_t>& sizes);

 private:
  ObjectClasses& classes_;
  bool glibc_ = false;
  size_t (*usable_size_)(void*) = nullptr;
};

}  // namespace tensorscope::torch
