// SPDX-License-Identifier: Apache-2.0
#include "torch/graph/wrapped_nodes.h"

#include <algorithm>

#include "torch/metadata/safe_reads.h"

namespace tensorscope::torch {

namespace {

constexpr size_t kWrapperSamples = 32;

// Offset of CopySlices::fn (torch/csrc/autograd/functions/tensor.h), the only pointer to a node among its fields; 0:
// not found.
bool find_pointer(const std::vector<uint64_t>& nodes, const NodeLayout& layout, NodeExtents& extents,
                  ObjectClasses& classes, uint32_t& offset) {
  offset = 0;
  std::vector<size_t> sizes;
  if (!extents.read(nodes, sizes)) return false;
  SafeReads objects;
  for (size_t i = 0; i < nodes.size(); ++i) {
    objects.add(nodes[i] + layout.size, sizes[i] > layout.size ? (sizes[i] - layout.size) / 8 * 8 : 0);
  }
  if (!objects.run()) return false;
  std::vector<uint64_t> words;
  std::vector<uint32_t> offsets;
  size_t read = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!objects.ok(i)) continue;
    ++read;
    for (size_t at = 0; at + 8 <= objects.size(i); at += 8) {
      words.push_back(objects.word(i, at));
      offsets.push_back(uint32_t(layout.size + at));
    }
  }
  std::vector<uint64_t> vtables(words.size(), 0);
  if (!read_words_safely(words.data(), vtables.data(), words.size())) return false;
  std::vector<size_t> votes;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!classes.derives_from(vtables[i], kNodeClass)) continue;
    if (votes.size() <= offsets[i] / 8) votes.resize(offsets[i] / 8 + 1);
    ++votes[offsets[i] / 8];
  }
  const auto best = std::max_element(votes.begin(), votes.end());
  if (best != votes.end() && *best * 2 > read) offset = uint32_t(best - votes.begin()) * 8;
  return true;
}

}  // namespace

bool add_wrapped_nodes(const NodeLayout& layout, NodeExtents& extents, ObjectClasses& classes, GraphWalk& walk) {
  uint32_t offset = 0;
  for (uint32_t done = 0; done < walk.nodes.size();) {
    std::vector<uint32_t> numbers;
    std::vector<uint64_t> addresses;
    for (; done < walk.nodes.size(); ++done) {
      const WalkedNode& node = walk.nodes[done];
      if (!node.alive || walk.node_classes[node.class_number].kind != NodeKind::copy_slices) continue;
      numbers.push_back(done);
      addresses.push_back(node.address);
    }
    if (numbers.empty()) return true;
    if (offset == 0) {
      const size_t some = std::min(addresses.size(), kWrapperSamples);
      const std::vector<uint64_t> samples(addresses.begin(), addresses.begin() + ptrdiff_t(some));
      if (!find_pointer(samples, layout, extents, classes, offset)) return false;
    }
    std::vector<uint64_t> inner(addresses.size(), 0);
    for (uint64_t& address : addresses) address += offset;
    if (offset != 0 && !read_words_safely(addresses.data(), inner.data(), addresses.size())) return false;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (inner[i] != 0 && can_be_pointer(inner[i])) {
        walk.nodes[numbers[i]].inner = walk.add(inner[i]);
      } else {
        walk.nodes[numbers[i]].partial = true;
      }
    }
    if (!walk.walk(layout)) return false;
  }
  return true;
}

}  // namespace tensorscope::torch
