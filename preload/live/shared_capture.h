// SPDX-License-Identifier: Apache-2.0
// One capture for what one operation makes on a thread: the block that it allocates, the tensor that takes this block,
// and the autograd node of this tensor. The block's site was captured; the tensor has the same one, and so the node.
//
//                 allocated()            takes_storage() of it           constructed()
//     no block ---------------> block ----------------------> taken -------------------> no block
//                                 ^                             |
//                                 +-----------------------------+
//             takes_storage() of another block, constructed() of another tensor
//
// allocated() puts another block in the place of the one that is there; a tensor that takes one then takes this one.
// Beside that stands the newest tensor, from its constructed() to that of the next one, or until it is destroyed.
//
// Context: hook. One object a thread, no lock; another thread may destroy the newest tensor meanwhile.
#pragma once

#include <cstdint>

#include "live/tensor_table.h"
#include "support/ids.h"

namespace tensorscope::live {

class SharedCapture {
 public:
  struct Block {
    const void* address = nullptr;
    uint64_t nbytes = 0;
    SiteId site = 0;
    StackId python = 0;
  };

  constexpr SharedCapture() = default;

  void allocated(const Block& block) { block_ = block; }

  // Before the constructor of a tensor that takes a storage over: `storage` is one word, the StorageImpl's address.
  void takes_storage(const void* impl, const void* const* storage) {
    taker_ = nullptr;
    const auto* words = static_cast<const void* const*>(*storage);
    if (__builtin_expect(words == nullptr || block_.address == nullptr, false)) return;
    // StorageImpl: vtable, reference counts (one word; two up to torch 2.x's early versions), data pointer, its context
    // (c10/core/StorageImpl.h, c10/util/UniqueVoidPtr.h, 1.13 to 2.14). A word that holds this very address is the
    // block's.
    if (words[2] == block_.address || words[3] == block_.address) taker_ = impl;
  }

  // Returns whether this tensor has taken the block; then no other one does, and block() keeps its site and its stack.
  bool constructed(const void* impl) {
    const bool takes = taker_ == impl;
    taker_ = nullptr;
    if (__builtin_expect(takes, true)) block_.address = nullptr;
    return takes;
  }
  const Block& block() const { return block_; }

  // The tensor that the thread has constructed last, as the table knows it.
  TensorReference& newest() { return newest_; }
  bool is_newest(const void* impl) const { return newest_.is(impl); }

 private:
  Block block_;                  // address null: none, or a tensor has taken it
  const void* taker_ = nullptr;  // the tensor under construction that takes it
  TensorReference newest_;
};

}  // namespace tensorscope::live
