// SPDX-License-Identifier: Apache-2.0
#include "oom/holdings.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "dump_generated.h"
#include "oom/unqualified.h"
#include "stacks/python/python_stack.h"
#include "tensorscope/rules/allocation_shares.h"
#include "tensorscope/rules/block_index.h"
#include "tensorscope/rules/category_judge.h"
#include "tensorscope/rules/interval_union.h"

namespace tensorscope::oom {

namespace {

using dump::TensorFacts;
using format::TensorFlag;
using format::TensorKnown;
using format::WrapperState;

bool knows(const TensorFacts& tensor, TensorKnown what) { return (tensor.known & uint32_t(what)) != 0; }
bool is(const TensorFacts& tensor, TensorKnown known, TensorFlag flag) {
  return knows(tensor, known) && (tensor.flags & uint32_t(flag)) != 0;
}

bool same(Device a, Device b) {
  constexpr int8_t kCpu = 0;  // has no index, but torch.device("cpu:0") can be written
  return a.type == b.type && (a.type == kCpu || a.index == b.index);
}

uint32_t number_of(std::span<const TensorFacts> tensors, Serial serial) {
  const auto found = std::lower_bound(tensors.begin(), tensors.end(), serial,
                                      [](const TensorFacts& tensor, Serial wanted) { return tensor.serial < wanted; });
  return found != tensors.end() && found->serial == serial ? uint32_t(found - tensors.begin()) : kNone;
}

}  // namespace

const char* row_text(Category category) {
  if (category == kRounding) return "rounding";
  if (category == kNotLookedAt) return "not looked at";
  return category == Category::unknown     ? "other"
         : category == Category::workspace ? "in no tensor"
                                           : category::text(category);
}

TensorLinks::TensorLinks(const DumpTables& tables) : tables_(tables) {
  const std::span<const TensorFacts> tensors = tables.tensors;
  first_reference_.assign(tensors.size(), kNone);
  object_.assign(tensors.size(), kNone);
  within_.assign(tensors.size(), format::ReferenceWithin::nothing);
  gradient_of_.assign(tensors.size(), kNone);
  saved_by_.assign(tensors.size(), Slot{});

  const auto& references = tables.references.references;
  for (uint32_t row = 0; row < references.size(); ++row) {
    if (row != 0 && references[row - 1].tensor() == references[row].tensor()) continue;
    const uint32_t tensor = number_of(tensors, references[row].tensor());
    if (tensor != kNone) first_reference_[tensor] = row;
  }
  for (const format::RunningCall& call : tables.references.calls) {
    same_names_.add_thread(tables.references.strings[call.thread_name()], call.thread());
  }
  for (uint32_t number = 0; number < references.size(); ++number) same_names_.add(row(number), beginning(number));
  for (uint32_t row = 0; row < tables.references.tensors.size(); ++row) {
    const uint32_t tensor = number_of(tensors, tables.references.tensors[row].tensor());
    if (tensor != kNone) object_[tensor] = row;
  }
  for (const format::TensorWithin& row : tables.references.within) {
    const uint32_t tensor = number_of(tensors, row.tensor());
    if (tensor != kNone && within_[tensor] == format::ReferenceWithin::nothing) within_[tensor] = row.what();
  }
  std::unordered_map<uint64_t, uint32_t> gradients;  // address -> owner
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    if (knows(tensors[i], TensorKnown::grad) && tensors[i].grad != 0) gradients.try_emplace(tensors[i].grad, i);
  }
  for (uint32_t i = 0; i < tensors.size() && !gradients.empty(); ++i) {
    const auto owner = gradients.find(tensors[i].address);
    if (owner != gradients.end() && owner->second != i) gradient_of_[i] = owner->second;
  }
  uint32_t slot = 0, functions = 0;
  for (uint32_t node = 0; node < tables.graph.nodes.size(); ++node) {
    const torch::Graph::Node& row = tables.graph.nodes[node];
    const bool python = (row.flags & uint8_t(format::GraphNodeFlag::python)) != 0;
    const uint32_t function = python ? functions++ : kNone;
    const bool accumulates = (row.flags & uint8_t(format::GraphNodeFlag::accumulates)) != 0;
    for (const uint32_t end = slot + row.saved; slot < end && slot < tables.graph.saved.size(); ++slot) {
      const format::SavedSlot& saved = tables.graph.saved[slot];
      if (accumulates || saved.tensor() == 0 || saved.state() != format::SlotState::held) continue;
      const uint32_t tensor = number_of(tensors, saved.tensor());
      if (tensor != kNone && saved_by_[tensor].node == kNone) saved_by_[tensor] = {node, slot, function};
    }
  }
}

std::span<const format::Reference> TensorLinks::references(uint32_t tensor) const {
  const auto& rows = tables_.references.references;
  const uint32_t first = first_reference_[tensor];
  if (first == kNone) return {};
  size_t end = first;
  while (end < rows.size() && rows[end].tensor() == rows[first].tensor()) ++end;
  return {rows.data() + first, end - first};
}

rules::Reference TensorLinks::row(uint32_t number) const {
  const format::Reference& row = tables_.references.references[number];
  const python::TextPool& texts = tables_.references.strings;
  return {row.root(), row.role(), texts[row.text()], texts[row.scope()], texts[row.holder()]};
}

// Of the reference in this row: as the analyzer reads it from the dump.
rules::Beginning TensorLinks::beginning(uint32_t number) const {
  const python::References& found = tables_.references;
  const uint32_t call = number < found.call_of.size() ? found.call_of[number] : 0;
  const uint32_t object = number < found.begins_at.size() ? found.begins_at[number] : 0;
  if (call != 0) return {found.calls[call - 1].thread(), found.calls[call - 1].depth(), 0};
  if (object != 0) return {0, 0, found.beginnings[object - 1]};
  return {};
}

rules::Reference TensorLinks::reference(uint32_t tensor, size_t i) const {
  return row(first_reference_[tensor] + uint32_t(i));
}

std::string TensorLinks::which(uint32_t tensor, size_t i) const {
  const uint32_t number = first_reference_[tensor] + uint32_t(i);
  return same_names_.which(row(number), beginning(number));
}

const format::TensorObject* TensorLinks::object(uint32_t tensor) const {
  return object_[tensor] == kNone ? nullptr : &tables_.references.tensors[object_[tensor]];
}

namespace {

using category::Answer;

// What does not depend on the tensor.
struct Known {
  const DumpTables& tables;
  const TensorLinks& links;
  const FrameFacts& frames;
  bool python = false;        // the program has it
  bool casts = false;         // some node of the graph is a cast
  bool parts = false;         // some tensor has others as its parts; which ones only the analyzer knows
  std::vector<Serial> nodes;  // ascending

  Known(const DumpTables& tables, const TensorLinks& links, const FrameFacts& frames)
      : tables(tables), links(links), frames(frames), python(stacks::python_version()[0] != 0) {
    for (const char* name : tables.graph.class_names) casts |= unqualified(name) == "ToCopyBackward0";
    for (const TensorFacts& row : tables.tensors) parts |= row.may_have_parts;
    nodes.reserve(tables.view.nodes.size);
    for (const live::NodeEntry& node : tables.view.nodes) nodes.push_back(node.serial);
    std::sort(nodes.begin(), nodes.end());
  }
};

// What a dump in the making says about one tensor (tensorscope/rules/category_judge.h).
class Evidence {
 public:
  // `memory`: the site of the allocation that the tensor's storage lies in; `node`: in whose backward it was made.
  Evidence(const Known& known, uint32_t tensor, SiteId memory, Serial node)
      : known_(known), row_(known.tables.tensors[tensor]), tensor_(tensor), memory_(memory), node_(node) {}

  category::Facts facts() const {
    const python::References& references = known_.tables.references;
    category::Facts facts;
    facts.python_complete = references.complete;
    facts.python_program = known_.python;
    facts.freed = std::binary_search(references.freed.begin(), references.freed.end(), row_.serial);
    facts.freed_during_dump = (row_.flags & uint32_t(TensorFlag::freed_during_dump)) != 0;
    facts.leaf = is(row_, TensorKnown::leaf, TensorFlag::leaf);
    facts.requires_grad = is(row_, TensorKnown::requires_grad, TensorFlag::requires_grad);
    facts.has_gradient = row_.grad != 0;
    facts.is_gradient = known_.links.gradient_of(tensor_) != kNone;
    facts.made_in_backward = node_ != 0 && std::binary_search(known_.nodes.begin(), known_.nodes.end(), node_);
    const TensorLinks::Slot slot = known_.links.saved_by(tensor_);
    facts.in_slot = slot.node != kNone;
    facts.output_of_slot_node = facts.in_slot && known_.tables.graph.saved[slot.slot].output() != 0;
    facts.memory_has_stack = memory_ != 0;
    facts.made = known_.frames.parts(row_.site);
    facts.memory = known_.frames.parts(memory_);
    facts.may_be_part = known_.parts;
    if (const format::TensorObject* object = known_.links.object(tensor_)) {
      facts.object = {true, object->state(), object->optimized() != 0, object->trained() != 0,
                      known_.links.within(tensor_)};
    }
    return facts;
  }

  size_t references() const { return known_.links.references(tensor_).size(); }
  rules::Reference reference(size_t i) const { return known_.links.reference(tensor_, i); }
  // To name native functions takes too long here.
  Answer made_natively(code::TorchPart) const {
    return known_.frames.is_native_only(memory_) ? Answer::unknown : Answer::no;
  }
  Answer made_by_slot_operation() const { return made_natively(code::kModuleCode); }
  bool runs_in_torch(std::string_view function) const { return known_.frames.runs_in_torch(row_.site, function); }
  // What no node computed was made where its stack says.
  Answer left_module_call() const {
    if (!known_.frames.any_module_call()) return Answer::no;
    const bool by_stack = is(row_, TensorKnown::leaf, TensorFlag::leaf);
    return by_stack && (known_.frames.parts(row_.site) & code::kModuleCall) == 0 ? Answer::no : Answer::unknown;
  }
  Answer cast_of_leaf() const {
    return !known_.casts || is(row_, TensorKnown::leaf, TensorFlag::leaf) ? Answer::no : Answer::unknown;
  }

 private:
  const Known& known_;
  const TensorFacts& row_;
  const uint32_t tensor_;
  const SiteId memory_;
  const Serial node_;
};

std::vector<uint32_t> allocations_of(const live::SnapshotView& view, Device device) {
  std::vector<uint32_t> allocations;
  for (uint32_t i = 0; i < view.allocations.size; ++i) {
    if (same(view.allocations[i].device, device)) allocations.push_back(i);
  }
  return allocations;
}

struct Bounds {
  const live::SnapshotView* view;
  std::pair<uint64_t, uint64_t> operator()(uint32_t i) const {
    return {reinterpret_cast<uint64_t>(view->allocations[i].pointer), view->allocations[i].nbytes};
  }
};
using AllocationIndex = rules::BlockIndex<Bounds>;

struct Storage {
  uint64_t base = 0, nbytes = 0;
  uint32_t allocation = kNone;  // that it lies in; none: numpy, shared or pinned memory
  Category category = Category::unknown;
  Category possible = Category::unknown;  // that one of its tensors may have
  uint32_t tensor = kNone;                // the strongest
  bool garbage = false;                   // a tensor of it is garbage
  bool kept = false;                      // something else keeps one
};

bool has_name(const TensorLinks& links, uint32_t tensor) {
  return !links.references(tensor).empty() || links.gradient_of(tensor) != kNone ||
         links.saved_by(tensor).node != kNone;
}

std::vector<Storage> storages_of(const Known& known, const AllocationIndex& index, Device device) {
  const DumpTables& tables = known.tables;
  std::vector<Storage> storages;
  std::unordered_map<uint64_t, uint32_t> by_base;
  for (uint32_t i = 0; i < tables.tensors.size(); ++i) {
    const TensorFacts& row = tables.tensors[i];
    uint64_t end = 0;
    if (!knows(row, TensorKnown::storage) || row.storage_base == 0) continue;
    if (!same(row.device, device)) continue;
    if (__builtin_add_overflow(row.storage_base, row.storage_nbytes, &end)) continue;
    const auto [found, fresh] = by_base.try_emplace(row.storage_base, uint32_t(storages.size()));
    if (fresh)
      storages.push_back({.base = row.storage_base, .allocation = index.find(row.storage_base).value_or(kNone)});
    Storage& storage = storages[found->second];
    storage.nbytes = std::max(storage.nbytes, row.storage_nbytes);
    const bool allocated = storage.allocation != kNone;
    const SiteId memory = allocated ? tables.view.allocations[storage.allocation].site : row.site;
    const Serial node = allocated ? tables.view.allocations[storage.allocation].node : 0;
    const category::Verdict verdict = category::judge(Evidence(known, i, memory, node));
    const Category category = verdict.category;
    if (category::stronger(verdict.possible, storage.possible)) storage.possible = verdict.possible;
    if (storage.tensor == kNone || category::stronger(category, storage.category) ||
        (category == storage.category && !has_name(known.links, storage.tensor) && has_name(known.links, i))) {
      storage.category = category;
      storage.tensor = i;
    }
    const format::TensorObject* object = known.links.object(i);
    const bool garbage = object != nullptr && object->state() == WrapperState::garbage;
    storage.garbage |= garbage;
    // A tensor that C++ alone knows is kept by a graph or by a view that counts for itself.
    storage.kept |= !garbage && object != nullptr && object->state() == WrapperState::referenced;
  }
  // A tensor of which too little is known may be the one that the memory is for.
  for (Storage& storage : storages) {
    if (category::stronger(storage.possible, storage.category)) storage.category = Category::unknown;
  }
  return storages;
}

}  // namespace

Holdings find_holdings(const DumpTables& tables, const TensorLinks& links, const FrameFacts& frames, Device device) {
  Holdings holdings;
  holdings.by_category.fill(0);
  holdings.items_of.fill(0);
  const live::SnapshotView& view = tables.view;
  const std::vector<uint32_t> allocations = allocations_of(view, device);
  const AllocationIndex index(allocations, {&view});
  std::vector<uint64_t> sizes(view.allocations.size);
  for (const uint32_t i : allocations) sizes[i] = view.allocations[i].nbytes;
  rules::AllocationShares shares(std::move(sizes));

  const auto add = [&](const Item& item) {
    holdings.by_category[size_t(item.category)] += item.bytes;
    ++holdings.items_of[size_t(item.category)];
    holdings.items.push_back(item);
  };
  // An item a site: there may be many, and memory is short.
  const bool partial = tables.tensors.size() < view.tensors.size;
  std::unordered_map<SiteId, size_t> not_looked_at;
  const auto add_not_looked_at = [&](const live::AllocationEntry& block) {
    const auto [known, fresh] = not_looked_at.try_emplace(block.site, holdings.items.size());
    if (fresh) return add({block.nbytes, block.site, kNotLookedAt, kNone, block.node});
    Item& item = holdings.items[known->second];
    item.bytes += block.nbytes;
    ++item.count;
    holdings.by_category[size_t(kNotLookedAt)] += block.nbytes;
    ++holdings.items_of[size_t(kNotLookedAt)];
  };
  rules::IntervalUnion counted;
  for (const Storage& storage : storages_of(Known(tables, links, frames), index, device)) {
    const uint32_t allocation = storage.allocation;
    const uint64_t own = storage.nbytes == 0 ? 0 : counted.add(storage.base, storage.base + storage.nbytes);
    if (allocation == kNone) continue;
    const uint64_t inside = shares.claim(allocation, own, uint32_t(holdings.items.size()));
    if (storage.garbage && !storage.kept) holdings.garbage += inside;
    const live::AllocationEntry& block = view.allocations[allocation];
    add({inside, block.site, storage.category, storage.tensor, block.node});
  }
  for (const uint32_t i : allocations) {
    const live::AllocationEntry& block = view.allocations[i];
    const uint32_t first = shares.first_item(i);
    holdings.bytes += block.nbytes;
    if (first == rules::AllocationShares::kNoItem && partial) {
      add_not_looked_at(block);
    } else if (first == rules::AllocationShares::kNoItem) {
      add({block.nbytes, block.site, Category::workspace, kNone, block.node});
    } else if (const uint64_t rounding = shares.left(i); rounding != 0) {
      holdings.items[first].bytes += rounding;
      holdings.by_category[size_t(kRounding)] += rounding;
      ++holdings.items_of[size_t(kRounding)];
    }
  }
  return holdings;
}

}  // namespace tensorscope::oom
