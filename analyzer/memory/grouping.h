// SPDX-License-Identifier: Apache-2.0
// A dump's items and tensors summed up by a property: place, dtype, device, ...
//
// Bytes of an item count for the group of its owner, each tensor counts for its own group (selection.h says how the two
// meet at one place). Sums over all groups equal the selection's totals.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/accounting.h"
#include "memory/selection.h"
#include "ownership/category.h"
#include "ownership/holders.h"
#include "symbols/places.h"

namespace tensorscope::analyzer {

enum class GroupBy : uint8_t { site, line, function, module, dtype, device, shape, thread, category, holder };
constexpr const char* text(GroupBy by) {
  switch (by) {
    case GroupBy::site:
      return "site";
    case GroupBy::line:
      return "line";
    case GroupBy::function:
      return "function";
    case GroupBy::module:
      return "module";
    case GroupBy::dtype:
      return "dtype";
    case GroupBy::device:
      return "device";
    case GroupBy::shape:
      return "shape";
    case GroupBy::thread:
      return "thread";
    case GroupBy::category:
      return "category";
    case GroupBy::holder:
      return "holder";
  }
  return "";
}
// In the order of the enumeration.
inline constexpr auto kByNames = [] {
  std::array<const char*, size_t(GroupBy::holder) + 1> names{};
  for (size_t i = 0; i < names.size(); i++) names[i] = text(GroupBy(i));
  return names;
}();
std::optional<GroupBy> by_named(std::string_view name);
inline bool by_place(GroupBy by) { return by == GroupBy::site || by == GroupBy::line || by == GroupBy::function; }

struct Group {
  std::string key;    // the same for the same group in another dump
  std::string label;  // for people: "train.py:57 train_step", "float32"
  uint64_t bytes = 0;
  uint64_t tensors = 0;
  uint64_t storages = 0;            // with memory
  uint64_t blocks = 0;              // allocations in no tensor
  uint64_t oldest_ns = UINT64_MAX;  // creation time of the oldest member
  uint64_t newest_ns = 0;
  uint32_t site = 0;                        // of the largest item, else of the first tensor
  uint32_t example = kNone;                 // tensor: of the largest item
  uint64_t largest = 0;                     // bytes of that item
  std::string modules;                      // paths of the nn.Modules its places run in, merged: "model.layers.*.attn"
  std::map<uint32_t, uint64_t> site_bytes;  // for places: what each of their sites holds
  std::map<uint32_t, uint64_t> forward_bytes;  // for places that no Python called (an autograd worker): the sites of
                                               // the operations in whose backward they were, and what each holds
  std::vector<uint32_t> representatives;       // tensors that speak for its storages (holders.h)
};

// What a question needs of one dump.
struct View {
  const Dump& dump;
  const Accounts& accounts;
  const Holders& holders;
  Places& places;
  const Selection& selection;
};

// "model.layers.0.attn" and "model.layers.3.attn" make "model.layers.*.attn"; what has no common form makes "...".
std::string merge_module_paths(const std::string& a, const std::string& b);

// In no particular order.
std::vector<Group> group(const View& view, GroupBy by);

}  // namespace tensorscope::analyzer
