// SPDX-License-Identifier: Apache-2.0
// Who has the memory of a device at the moment of a failure: its live bytes by category and by item, each byte once.
// The analyzer's categories by the same rule (tensorscope/rules/category_judge.h), from what a dump has in hand: where
// it takes native functions' names or the way through the graph, the category is unknown here.
//
// Context: collector, under run_or_abandon_on_oom(). Linear in tensors, allocations and saved slots.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dump/tensor_facts.h"
#include "live/snapshot_view.h"
#include "oom/frame_facts.h"
#include "python/references.h"
#include "tensorscope/rules/categories.h"
#include "tensorscope/rules/reference_text.h"
#include "tensorscope/rules/same_names.h"
#include "torch/graph/graph.h"

namespace tensorscope::oom {

using category::Category;
inline constexpr Category kRounding = Category(category::kCategories);  // ends of blocks that their tensors do not use
// Blocks without a tensor, where not all tensors were looked at.
inline constexpr Category kNotLookedAt = Category(category::kCategories + 1);
inline constexpr size_t kCategories = category::kCategories + 2;
// As a row of the report: unknown is "other", blocks that no tensor refers to are "in no tensor".
const char* row_text(Category category);

inline constexpr uint32_t kNone = UINT32_MAX;

struct DumpTables {
  const live::SnapshotView& view;
  std::span<const dump::TensorFacts> tensors;  // in serial order; fewer than the view's: the largest
  const torch::Graph& graph;
  const python::References& references;
};

// Which rows of phase 2 and of the graph are about a tensor, by its number in DumpTables::tensors.
class TensorLinks {
 public:
  explicit TensorLinks(const DumpTables& tables);

  std::span<const format::Reference> references(uint32_t tensor) const;
  rules::Reference reference(uint32_t tensor, size_t i) const;  // of these, with its texts
  std::string which(uint32_t tensor, size_t i) const;           // as rules::Reference::which, which it lacks
  const format::TensorObject* object(uint32_t tensor) const;    // null: Python never saw it, or was not looked through
  format::ReferenceWithin within(uint32_t tensor) const { return within_[tensor]; }
  uint32_t gradient_of(uint32_t tensor) const { return gradient_of_[tensor]; }
  struct Slot {
    uint32_t node = kNone;      // number in the graph
    uint32_t slot = 0;          // index into Graph::saved
    uint32_t function = kNone;  // index into Graph::functions
  };
  Slot saved_by(uint32_t tensor) const { return saved_by_[tensor]; }  // accumulators apart

 private:
  rules::Reference row(uint32_t number) const;
  rules::Beginning beginning(uint32_t number) const;

  const DumpTables& tables_;
  rules::SameNames same_names_;
  std::vector<uint32_t> first_reference_, object_, gradient_of_;
  std::vector<format::ReferenceWithin> within_;
  std::vector<Slot> saved_by_;
};

// A storage of the device that lies in one of its allocations, or an allocation that no storage lies in.
struct Item {
  uint64_t bytes = 0;  // what the storage counts, and the unused end of its allocation
  SiteId site = 0;
  Category category = Category::workspace;
  uint32_t tensor = kNone;  // the tensor that the category comes from
  Serial node = 0;          // autograd node in whose backward the memory was made, 0: none
  uint32_t count = 1;       // of allocations: those of one site that were not looked at are one item
};

struct Holdings {
  uint64_t bytes = 0;                             // live ones of the device: the sum of what follows
  std::array<uint64_t, kCategories> by_category;  // "rounding" is in the items' bytes, too
  std::array<uint64_t, kCategories> items_of;     // how many storages or blocks
  std::vector<Item> items;
  uint64_t garbage = 0;  // of these, in storages that nothing but unreachable cycles refers to
};

Holdings find_holdings(const DumpTables& tables, const TensorLinks& links, const FrameFacts& frames, Device device);

}  // namespace tensorscope::oom
