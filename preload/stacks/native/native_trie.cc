// SPDX-License-Identifier: Apache-2.0
#include "stacks/native/native_trie.h"

#include "support/spread_bits.h"

namespace tensorscope::stacks {

namespace {

constexpr uint32_t kNoNode = ~uint32_t{0};  // published where a slot was claimed but no node could be had
constexpr int kPublishSpins = 1000;

uint64_t hash(StackId parent, uint64_t address) {
  const uint64_t mixed = (address + spread_bits(parent)) * 0xd6e8feb86659fd93;
  return (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93;
}

uint64_t published(const std::atomic<uint64_t>& link) {
  for (int i = 0; i < kPublishSpins; ++i) {
    if (const uint64_t value = link.load(std::memory_order_acquire); value != 0) return value;
  }
  return 0;
}

}  // namespace

StackId NativeTrie::child(StackId parent, uint64_t address) {
  if (address == 0) return 0;
  if (is_child(parent + 1, parent, address)) return parent + 1;
  const uint64_t key = hash(parent, address);
  for (int i = 0; i < kLevels; ++i) {
    Line* lines = levels_[i].load(std::memory_order_acquire);
    if (lines == nullptr && (lines = level(i)) == nullptr) return 0;
    for (Slot& slot : lines[key >> (64 - kLineBits[i])].slots) {
      uint64_t found = slot.address.load(std::memory_order_acquire);
      if (found == 0 && slot.address.compare_exchange_strong(found, address, std::memory_order_acq_rel)) {
        const StackId id = new_node(parent, address);
        slot.link.store(uint64_t{parent} << 32 | (id == 0 ? kNoNode : id), std::memory_order_release);
        return id;
      }
      if (found != address) continue;
      const uint64_t link = published(slot.link);
      if (link != 0 && link >> 32 == parent) return StackId(link) == kNoNode ? 0 : StackId(link);
    }
  }
  return 0;
}

bool NativeTrie::is_child(StackId id, StackId parent, uint64_t address) const {
  if (id / kChunkNodes >= kMaxChunks) return false;
  const Node* nodes = chunks_[id / kChunkNodes].load(std::memory_order_acquire);
  if (nodes == nullptr) return false;
  const Node& node = nodes[id % kChunkNodes];
  return node.address.load(std::memory_order_relaxed) == address &&
         node.parent.load(std::memory_order_relaxed) == parent;
}

NativeFrame NativeTrie::frame(StackId id) const {
  if (id >= count()) return {};
  const Node* nodes = chunks_[id / kChunkNodes].load(std::memory_order_acquire);
  if (nodes == nullptr) return {};
  const Node& node = nodes[id % kChunkNodes];
  return {node.address.load(std::memory_order_relaxed), StackId(node.parent.load(std::memory_order_relaxed))};
}

StackId NativeTrie::new_node(StackId parent, uint64_t address) {
  uint32_t id = next_.load(std::memory_order_relaxed);
  Node* nodes;
  do {
    if (id >= kMaxChunks * kChunkNodes || (nodes = chunk(id / kChunkNodes)) == nullptr) return 0;
  } while (!next_.compare_exchange_weak(id, id + 1, std::memory_order_acq_rel));
  nodes[id % kChunkNodes].parent.store(parent, std::memory_order_relaxed);
  nodes[id % kChunkNodes].address.store(address, std::memory_order_relaxed);
  return id;
}

// Where two threads make the same level or chunk at once, the slower one's stays untouched: address space, no memory.

NativeTrie::Line* NativeTrie::level(int index) {
  Line* lines = arena_.allocate_array<Line>(size_t{1} << kLineBits[index]);
  Line* present = nullptr;
  if (lines == nullptr || levels_[index].compare_exchange_strong(present, lines, std::memory_order_acq_rel))
    return lines;
  return present;
}

NativeTrie::Node* NativeTrie::chunk(size_t index) {
  Node* nodes = chunks_[index].load(std::memory_order_acquire);
  if (nodes != nullptr) return nodes;
  nodes = arena_.allocate_array<Node>(kChunkNodes);
  Node* present = nullptr;
  if (nodes == nullptr || chunks_[index].compare_exchange_strong(present, nodes, std::memory_order_acq_rel))
    return nodes;
  return present;
}

}  // namespace tensorscope::stacks
