// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_trie.h"

#include "support/spread_bits.h"

namespace tensorscope::stacks {

namespace {

uint32_t hash_of(const PythonTrie::Node& node) {
  uint64_t hash = uint64_t{node.parent} << 32 | node.code;
  hash ^= spread_bits(uint64_t{uint32_t(node.offset)} << 1 | node.entry);
  return mix_hash(hash ^ node.module_object * 0xc2b2ae3d27d4eb4fu);
}

}  // namespace

StackId PythonTrie::find(uint32_t hash, const Node& node) {
  return index_.find(hash, [&](uint32_t id) { return nodes_[id] == node; });
}

StackId PythonTrie::intern(const Node& node) {
  uint32_t hash = hash_of(node);
  if (StackId id = find(hash, node)) return id;
  SpinGuard guard(lock_);
  if (!guard) return 0;
  if (StackId id = find(hash, node)) return id;
  if (nodes_.size() == 0 && nodes_.append(arena_, Node{}) == nodes_.kFull) return 0;
  size_t id = nodes_.append(arena_, node);
  if (id == nodes_.kFull || !index_.add(arena_, hash, StackId(id))) return 0;
  return StackId(id);
}

}  // namespace tensorscope::stacks
