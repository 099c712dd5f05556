#include "model/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace tensorscope::model {

namespace {

// A piece of memory, the same in two dumps of one run.
using Identity = std::tuple<uint64_t, uint64_t, uint64_t>;

std::map<Identity, uint64_t> memory_of(const View& view) {
  std::map<Identity, uint64_t> result;
  for (uint32_t i = 0; i < view.accounts.items().size(); ++i) {
    const Item& item = view.accounts.items()[i];
    if (!view.selection.item(i) || item.bytes == 0) continue;
    if (item.allocation != kNone) {
      result[{view.dump.allocations[item.allocation].serial, 0, 0}] += item.bytes;
    } else {
      const Storage& storage = view.dump.storages[item.storage];
      result[{0, storage.data_ptr, storage.nbytes}] += item.bytes;
    }
  }
  return result;
}

uint64_t only_in(const std::map<Identity, uint64_t>& a, const std::map<Identity, uint64_t>& b) {
  uint64_t sum = 0;
  for (const auto& [identity, bytes] : a) {
    if (!b.contains(identity)) sum += bytes;
  }
  return sum;
}

Movement by_serial(const View& from, const View& to) {
  Movement result;
  std::unordered_map<uint64_t, uint32_t> before;
  for (uint32_t i = 0; i < from.dump.tensors.size(); ++i) {
    if (from.selection.tensor(i)) before.emplace(from.dump.tensors[i].serial, i);
  }
  auto storage_of = [](const Dump& dump, const Tensor& tensor) -> Storage {
    return tensor.storage == kNone ? Storage{} : dump.storages[tensor.storage];
  };
  for (uint32_t i = 0; i < to.dump.tensors.size(); ++i) {
    if (!to.selection.tensor(i)) continue;
    const Tensor& now = to.dump.tensors[i];
    auto found = before.find(now.serial);
    if (found == before.end()) {
      result.fresh.tensors += 1;
      continue;
    }
    const Tensor& then = from.dump.tensors[found->second];
    before.erase(found);
    Storage old_storage = storage_of(from.dump, then), new_storage = storage_of(to.dump, now);
    Amount* amount = nullptr;
    uint64_t bytes = new_storage.nbytes;
    if (new_storage.nbytes > old_storage.nbytes) {
      amount = &result.grown;
      bytes -= old_storage.nbytes;
    } else if (new_storage.nbytes < old_storage.nbytes) {
      amount = &result.shrunk;
      bytes = old_storage.nbytes - new_storage.nbytes;
    } else if (new_storage.data_ptr != old_storage.data_ptr || now.device != then.device) {
      amount = &result.moved;
    }
    if (amount != nullptr) {
      amount->tensors += 1;
      amount->bytes += bytes;
    }
  }
  result.gone.tensors = before.size();
  auto old_memory = memory_of(from), new_memory = memory_of(to);
  result.fresh.bytes = only_in(new_memory, old_memory);
  result.gone.bytes = only_in(old_memory, new_memory);
  return result;
}

// Between runs: tensors as counts by what they are and where they were made.
std::map<std::string, Amount> kinds_of(const View& view) {
  std::map<std::string, Amount> result;
  auto key_of = [&](uint32_t site, uint32_t tensor) {
    std::string what = "block";
    if (tensor != kNone) {
      const Tensor& entry = view.dump.tensors[tensor];
      what = entry.shape_text() + " " + entry.dtype_text() + " " + entry.device.text();
    }
    return what + "\n" + view.places.stack_key(site);
  };
  for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
    if (!view.selection.tensor(i)) continue;
    result[key_of(effective_site(view.dump, view.accounts, view.places, i), i)].tensors += 1;
  }
  for (uint32_t i = 0; i < view.accounts.items().size(); ++i) {
    const Item& item = view.accounts.items()[i];
    if (view.selection.item(i) && item.bytes > 0) result[key_of(item.site, item.tensor)].bytes += item.bytes;
  }
  return result;
}

Amount surplus(const std::map<std::string, Amount>& of, const std::map<std::string, Amount>& over) {
  Amount result;
  for (const auto& [key, amount] : of) {
    auto found = over.find(key);
    Amount other = found == over.end() ? Amount{} : found->second;
    if (amount.tensors > other.tensors) result.tensors += amount.tensors - other.tensors;
    if (amount.bytes > other.bytes) result.bytes += amount.bytes - other.bytes;
  }
  return result;
}

Movement by_kind(const View& from, const View& to) {
  auto before = kinds_of(from), after = kinds_of(to);
  Movement result;
  result.fresh = surplus(after, before);
  result.gone = surplus(before, after);
  return result;
}

bool is_steady(const std::vector<uint64_t>& bytes) {
  if (bytes.size() < 3) return false;
  uint64_t least = UINT64_MAX, most = 0;
  for (size_t i = 1; i < bytes.size(); ++i) {
    if (bytes[i] <= bytes[i - 1]) return false;
    least = std::min(least, bytes[i] - bytes[i - 1]);
    most = std::max(most, bytes[i] - bytes[i - 1]);
  }
  return least >= most / 4;
}

bool varies(const std::vector<uint64_t>& values) {
  return std::any_of(values.begin(), values.end(), [&](uint64_t value) { return value != values.front(); });
}

// Growth before shrinkage, the largest of either first.
bool comes_before(const Change& a, const Change& b) {
  auto rank = [](const Change& change) { return change.byte_growth() > 0 ? 0 : change.byte_growth() < 0 ? 2 : 1; };
  auto size = [](int64_t value) { return value < 0 ? -uint64_t(value) : uint64_t(value); };
  if (a.steady != b.steady) return a.steady;
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (a.byte_growth() != b.byte_growth()) return size(a.byte_growth()) > size(b.byte_growth());
  if (a.tensor_growth() != b.tensor_growth()) return a.tensor_growth() > b.tensor_growth();
  return a.label < b.label;
}

}  // namespace

bool same_run(const Dump& a, const Dump& b) {
  return !a.process.run_id.empty() && a.process.run_id == b.process.run_id;
}

Difference difference(const std::vector<View>& views, By by) {
  Difference result;
  const View& first = views.front();
  const View& last = views.back();
  result.same_run =
      std::all_of(views.begin(), views.end(), [&](const View& v) { return same_run(first.dump, v.dump); });
  result.movement = result.same_run ? by_serial(first, last) : by_kind(first, last);

  std::map<std::string, Change> changes;
  for (size_t i = 0; i < views.size(); ++i) {
    result.bytes.push_back(views[i].selection.bytes(views[i].accounts));
    result.tensors.push_back(views[i].selection.tensor_count());
    for (Group& group : group(views[i], by)) {
      Change& change = changes[group.key];
      change.bytes.resize(views.size());
      change.tensors.resize(views.size());
      change.bytes[i] = group.bytes;
      change.tensors[i] = group.tensors;
      change.dump = uint32_t(i);
      change.label = group.label;
      change.group = std::move(group);
    }
  }
  for (auto& [key, change] : changes) {
    if (!varies(change.bytes) && !varies(change.tensors)) continue;
    change.steady = is_steady(change.bytes);
    result.changes.push_back(std::move(change));
  }
  std::sort(result.changes.begin(), result.changes.end(), comes_before);
  return result;
}

}  // namespace tensorscope::model
