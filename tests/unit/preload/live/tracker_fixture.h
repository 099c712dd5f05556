// SPDX-License-Identifier: Apache-2.0
// A recorder that records, and rows of a snapshot by their address.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "fake_stacks.h"
#include "live/snapshot_view.h"
#include "live/tracker.h"
#include "support/state.h"

namespace tensorscope::live {

inline thread_local const void* t_running_node = nullptr;

class RecorderTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(start());
    g_state.store(State::recording);
    t_fake_stack = {};
    t_running_node = nullptr;
    set_current_node_function([]() -> const void* { return t_running_node; });
  }

  // Addresses that no other test uses.
  const void* fresh(size_t i = 0) const { return &memory_[i]; }

  static const TensorEntry* tensor(const SnapshotView& view, const void* impl) {
    return find(view.tensors, &TensorEntry::impl, impl);
  }
  static const AllocationEntry* allocation(const SnapshotView& view, const void* pointer) {
    return find(view.allocations, &AllocationEntry::pointer, pointer);
  }
  static const NodeEntry* node(const SnapshotView& view, const void* address) {
    return find(view.nodes, &NodeEntry::node, address);
  }

  template <typename Entry>
  static const Entry* find(const Rows<Entry>& rows, const void* Entry::*member, const void* key) {
    const Entry* found = nullptr;
    for (const Entry& entry : rows) {
      if (entry.*member != key) continue;
      EXPECT_EQ(found, nullptr) << "twice in the table";
      found = &entry;
    }
    return found;
  }

  static const SiteCounters& site(const SnapshotView& view, stacks::Stack stack) {
    for (const SiteCounters& row : view.sites) {
      if (row.native == stack.native && row.python == stack.python) return row;
    }
    ADD_FAILURE() << "no such site";
    return view.sites[0];
  }

 private:
  std::vector<char> memory_ = std::vector<char>(1 << 20);
};

}  // namespace tensorscope::live
