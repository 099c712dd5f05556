// SPDX-License-Identifier: Apache-2.0
#include "torch/graph/node_extent.h"

#include <string.h>

#include "live/snapshot_view.h"
#include "support/loaded_object.h"
#include "torch/metadata/safe_reads.h"

namespace tensorscope::torch {

namespace {

constexpr size_t kMaxBlock = size_t{64} << 10;
// The control block of std::make_shared holds the object: a vtable and two counts come first (libstdc++).
constexpr char kSharedBlock[] = "St23_Sp_counted_ptr_inplace";

struct Malloc {
  bool glibc = false;
  void* usable_size = nullptr;
};

// The first definition in load order is the one that is used.
Malloc find_malloc() {
  Malloc found;
  visit_objects([&](const LoadedObject& object) {
    if (object.find("malloc") == nullptr) return true;
    found.glibc = object.file_name_begins_with("libc.so") || object.file_name_begins_with("libc-2");
    found.usable_size = object.find("malloc_usable_size");
    return false;
  });
  return found;
}

// From the word in front of a block: its size, with three flags in the lowest bits, and eight bytes of the next
// block's head that belong to this one.
size_t block_size(uint64_t head) {
  constexpr uint64_t kFlags = 7, kMapped = 2;
  const uint64_t size = head & ~kFlags;
  if ((head & kMapped) != 0 || size % 16 != 0 || size < 32 || size > kMaxBlock) return 0;
  return size_t(size - 8);
}

}  // namespace

NodeExtents::NodeExtents(ObjectClasses& classes, bool deaths_are_told) : classes_(classes) {
  const Malloc found = find_malloc();
  glibc_ = found.glibc;
  if (!glibc_ && deaths_are_told) usable_size_ = reinterpret_cast<size_t (*)(void*)>(found.usable_size);
}

bool NodeExtents::read(const std::vector<uint64_t>& nodes, std::vector<size_t>& sizes) {
  sizes.assign(nodes.size(), 0);
  if (glibc_) {
    SafeReads heads;
    for (uint64_t node : nodes) heads.add(node - 24, 24);
    if (!heads.run()) return false;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!heads.ok(i)) continue;
      const bool shared = strncmp(classes_.by_vtable(heads.word(i, 8)), kSharedBlock, sizeof(kSharedBlock) - 1) == 0;
      const size_t block = block_size(heads.word(i, shared ? 0 : 16));
      sizes[i] = shared && block > 16 ? block - 16 : block;
    }
  } else if (usable_size_ != nullptr) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      auto* const node = reinterpret_cast<void*>(nodes[i]);
      size_t usable = 0;
      live::look_at_node(node, [&] { usable = usable_size_(node); });
      if (usable <= kMaxBlock) sizes[i] = usable;
    }
  }
  return true;
}

}  // namespace tensorscope::torch
