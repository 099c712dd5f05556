#include "out_of_memory/holdings.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "dump_generated.h"
#include "tensorscope/rules/interval_union.h"

namespace tensorscope::out_of_memory {

namespace {

using dump::ReferenceRole;
using dump::ReferenceRoot;
using dump::TensorFlag;
using dump::TensorKnown;
using dump::WrapperState;
using snapshot::TensorFacts;

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
  return category == Category::unknown     ? "other"
         : category == Category::workspace ? "in no tensor"
                                           : category::text(category);
}

TensorLinks::TensorLinks(const DumpTables& tables) : tables_(tables) {
  const std::span<const TensorFacts> tensors = tables.tensors;
  first_reference_.assign(tensors.size(), kNone);
  object_.assign(tensors.size(), kNone);
  within_.assign(tensors.size(), dump::ReferenceWithin::nothing);
  gradient_of_.assign(tensors.size(), kNone);
  saved_by_.assign(tensors.size(), Slot{});

  const auto& references = tables.references.references;
  for (uint32_t row = 0; row < references.size(); ++row) {
    if (row != 0 && references[row - 1].tensor() == references[row].tensor()) continue;
    const uint32_t tensor = number_of(tensors, references[row].tensor());
    if (tensor != kNone) first_reference_[tensor] = row;
  }
  for (uint32_t row = 0; row < tables.references.tensors.size(); ++row) {
    const uint32_t tensor = number_of(tensors, tables.references.tensors[row].tensor());
    if (tensor != kNone) object_[tensor] = row;
  }
  for (const dump::TensorWithin& row : tables.references.within) {
    const uint32_t tensor = number_of(tensors, row.tensor());
    if (tensor != kNone && within_[tensor] == dump::ReferenceWithin::nothing) within_[tensor] = row.what();
  }
  std::unordered_map<uint64_t, uint32_t> gradients;  // address -> owner
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    if (knows(tensors[i], TensorKnown::grad) && tensors[i].grad != 0) gradients.try_emplace(tensors[i].grad, i);
  }
  for (uint32_t i = 0; i < tensors.size() && !gradients.empty(); ++i) {
    const auto owner = gradients.find(tensors[i].address);
    if (owner != gradients.end() && owner->second != i) gradient_of_[i] = owner->second;
  }
  uint32_t slot = 0;
  for (uint32_t node = 0; node < tables.graph.nodes.size(); ++node) {
    const snapshot::Graph::Node& row = tables.graph.nodes[node];
    const bool accumulates = (row.flags & uint8_t(dump::GraphNodeFlag::accumulates)) != 0;
    for (const uint32_t end = slot + row.saved; slot < end && slot < tables.graph.saved.size(); ++slot) {
      const dump::SavedSlot& saved = tables.graph.saved[slot];
      if (accumulates || saved.tensor() == 0 || saved.state() != dump::SlotState::held) continue;
      const uint32_t tensor = number_of(tensors, saved.tensor());
      if (tensor != kNone && saved_by_[tensor].node == kNone) saved_by_[tensor] = {node, slot};
    }
  }
}

std::span<const dump::Reference> TensorLinks::references(uint32_t tensor) const {
  const auto& rows = tables_.references.references;
  const uint32_t first = first_reference_[tensor];
  if (first == kNone) return {};
  size_t end = first;
  while (end < rows.size() && rows[end].tensor() == rows[first].tensor()) ++end;
  return {rows.data() + first, end - first};
}

const dump::TensorObject* TensorLinks::object(uint32_t tensor) const {
  return object_[tensor] == kNone ? nullptr : &tables_.references.tensors[object_[tensor]];
}

namespace {

class Judge {
 public:
  Judge(const DumpTables& tables, const TensorLinks& links, const FrameFacts& frames)
      : tables_(tables), links_(links), frames_(frames) {}

  // `memory`: the site of the allocation that the tensor's storage lies in.
  Category of(uint32_t tensor, SiteId memory) const {
    const SiteId site = tables_.tensors[tensor].site;
    const auto references = links_.references(tensor);
    const auto with_role = [&](ReferenceRole role) {
      return std::any_of(references.begin(), references.end(), [&](const auto& row) { return row.role() == role; });
    };
    if (with_role(ReferenceRole::parameter) || is_parameter(tensor)) return Category::parameter;
    if (with_role(ReferenceRole::buffer)) return Category::buffer;
    if (links_.gradient_of(tensor) != kNone) return Category::gradient;
    if (with_role(ReferenceRole::optimizer_state)) return Category::optimizer_state;
    if (!tables_.references.complete && frames_.in_optimizer(site)) return Category::optimizer_state;
    if (links_.within(tensor) == dump::ReferenceWithin::dataset) return Category::dataset;
    if (links_.within(tensor) == dump::ReferenceWithin::kv_cache) return Category::kv_cache;
    if (frames_.in_data_loading(site)) return Category::input_batch;
    const bool container = in_container(tensor, memory);
    if (const TensorLinks::Slot saved = links_.saved_by(tensor); saved.node != kNone) {
      if (!given(tensor, memory, saved)) return Category::saved_activation;
      return container ? Category::container : Category::input_batch;
    }
    const bool by_node = std::any_of(references.begin(), references.end(),
                                     [](const auto& row) { return row.root() == ReferenceRoot::node; });
    if (by_node) return Category::saved_activation;
    return container ? Category::container : Category::unknown;
  }

 private:
  // A leaf that no model made is what the graph was given.
  bool given(uint32_t tensor, SiteId memory, const TensorLinks::Slot& saved) const {
    const TensorFacts& row = tables_.tensors[tensor];
    if (!is(row, TensorKnown::leaf, TensorFlag::leaf) || tables_.graph.saved[saved.slot].output() != 0) return false;
    return memory != 0 && !frames_.computed(memory);
  }

  bool in_container(uint32_t tensor, SiteId memory) const {
    const python::TextPool& strings = tables_.references.strings;
    for (const dump::Reference& row : links_.references(tensor)) {
      const std::string_view holder = strings[row.holder()];
      if (holder.empty() || !category::by_program(row.root(), strings[row.scope()])) continue;
      if (category::in_function_cache(strings[row.text()])) continue;
      if (!frames_.computed(memory) || category::in_collection(holder, strings[row.text()])) return true;
    }
    return false;
  }

  bool is_parameter(uint32_t tensor) const {
    if (const dump::TensorObject* object = links_.object(tensor)) return object->optimized() || object->trained();
    // Without Python's word: what is trained has a gradient, or was made by torch.nn itself.
    const TensorFacts& row = tables_.tensors[tensor];
    const bool trained =
        is(row, TensorKnown::leaf, TensorFlag::leaf) && is(row, TensorKnown::requires_grad, TensorFlag::requires_grad);
    return trained && links_.gradient_of(tensor) == kNone && (row.grad != 0 || frames_.in_module_code(row.site));
  }

  const DumpTables& tables_;
  const TensorLinks& links_;
  const FrameFacts& frames_;
};

// The device's allocations by address. They may be nested (a block inside a mapped file), so each also remembers which
// of those that begin no later reaches farthest.
class AllocationIndex {
 public:
  AllocationIndex(const live::SnapshotView& view, Device device) : view_(view) {
    for (uint32_t i = 0; i < view.allocations.size; ++i) {
      if (same(view.allocations[i].device, device)) entries_.push_back({i, i});
    }
    std::sort(entries_.begin(), entries_.end(),
              [&](const Entry& a, const Entry& b) { return begin(a.allocation) < begin(b.allocation); });
    for (size_t i = 1; i < entries_.size(); ++i) {
      const uint32_t before = entries_[i - 1].farthest;
      if (end(before) >= end(entries_[i].allocation)) entries_[i].farthest = before;
    }
  }

  // In serial order.
  std::vector<uint32_t> allocations() const {
    std::vector<uint32_t> all;
    for (const Entry& entry : entries_) all.push_back(entry.allocation);
    std::sort(all.begin(), all.end());
    return all;
  }
  uint32_t find(uint64_t address) const {
    const auto after =
        std::upper_bound(entries_.begin(), entries_.end(), address,
                         [&](uint64_t value, const Entry& entry) { return value < begin(entry.allocation); });
    if (after == entries_.begin()) return kNone;
    const Entry& entry = *std::prev(after);
    if (address < end(entry.allocation)) return entry.allocation;
    return address < end(entry.farthest) ? entry.farthest : kNone;
  }

 private:
  struct Entry {
    uint32_t allocation, farthest;
  };
  uint64_t begin(uint32_t i) const { return reinterpret_cast<uint64_t>(view_.allocations[i].pointer); }
  uint64_t end(uint32_t i) const { return begin(i) + std::max<uint64_t>(view_.allocations[i].nbytes, 1); }

  const live::SnapshotView& view_;
  std::vector<Entry> entries_;
};

struct Storage {
  uint64_t base = 0, nbytes = 0;
  Category category = Category::unknown;
  uint32_t tensor = kNone;  // the strongest
  bool garbage = false;     // a tensor of it is garbage
  bool kept = false;        // something else keeps one
};

std::vector<Storage> storages_of(const DumpTables& tables, const TensorLinks& links, const Judge& judge,
                                 const AllocationIndex& index, Device device) {
  std::vector<Storage> storages;
  std::unordered_map<uint64_t, uint32_t> known;
  for (uint32_t i = 0; i < tables.tensors.size(); ++i) {
    const TensorFacts& row = tables.tensors[i];
    uint64_t end = 0;
    if (!knows(row, TensorKnown::storage) || row.storage_base == 0) continue;
    if (!same(row.device, device)) continue;
    if (__builtin_add_overflow(row.storage_base, row.storage_nbytes, &end)) continue;
    const auto [found, fresh] = known.try_emplace(row.storage_base, uint32_t(storages.size()));
    if (fresh) storages.emplace_back().base = row.storage_base;
    Storage& storage = storages[found->second];
    storage.nbytes = std::max(storage.nbytes, row.storage_nbytes);
    const uint32_t block = index.find(row.storage_base);
    const Category category = judge.of(i, block == kNone ? row.site : tables.view.allocations[block].site);
    if (storage.tensor == kNone || category::stronger(category, storage.category)) {
      storage.category = category;
      storage.tensor = i;
    }
    const dump::TensorObject* object = links.object(i);
    const bool garbage = object != nullptr && object->state() == WrapperState::garbage;
    storage.garbage |= garbage;
    // A tensor that C++ alone knows is kept by a graph or by a view that counts for itself.
    storage.kept |= !garbage && object != nullptr && object->state() == WrapperState::referenced;
  }
  return storages;
}

}  // namespace

Holdings find_holdings(const DumpTables& tables, const TensorLinks& links, const FrameFacts& frames, Device device) {
  Holdings holdings;
  holdings.by_category.fill(0);
  holdings.items_of.fill(0);
  const live::SnapshotView& view = tables.view;
  const AllocationIndex index(view, device);
  std::vector<uint64_t> room(view.allocations.size);
  std::vector<uint32_t> first(view.allocations.size, kNone);  // item of the first storage in it
  for (size_t i = 0; i < room.size(); ++i) room[i] = view.allocations[i].nbytes;

  const auto add = [&](const Item& item) {
    holdings.by_category[size_t(item.category)] += item.bytes;
    ++holdings.items_of[size_t(item.category)];
    holdings.items.push_back(item);
  };
  rules::IntervalUnion counted;
  for (const Storage& storage : storages_of(tables, links, Judge(tables, links, frames), index, device)) {
    const uint32_t allocation = index.find(storage.base);
    const uint64_t own = storage.nbytes == 0 ? 0 : counted.add(storage.base, storage.base + storage.nbytes);
    if (allocation == kNone) continue;  // numpy, shared or pinned memory: not the allocator's
    const uint64_t inside = std::min(own, room[allocation]);
    room[allocation] -= inside;
    if (first[allocation] == kNone) first[allocation] = uint32_t(holdings.items.size());
    if (storage.garbage && !storage.kept) holdings.garbage += inside;
    const live::AllocationEntry& block = view.allocations[allocation];
    add({inside, block.site, storage.category, storage.tensor, block.node});
  }
  for (const uint32_t i : index.allocations()) {
    holdings.bytes += view.allocations[i].nbytes;
    if (first[i] == kNone) {
      const live::AllocationEntry& block = view.allocations[i];
      add({block.nbytes, block.site, Category::workspace, kNone, block.node});
    } else if (room[i] != 0) {
      holdings.items[first[i]].bytes += room[i];
      holdings.by_category[size_t(kRounding)] += room[i];
      ++holdings.items_of[size_t(kRounding)];
    }
  }
  return holdings;
}

}  // namespace tensorscope::out_of_memory
