// SPDX-License-Identifier: Apache-2.0
#include "memory/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "memory/growing_values.h"

namespace tensorscope::analyzer {

namespace {

// A piece of memory, the same in two dumps of one run.
using Identity = std::tuple<uint64_t, uint64_t, uint64_t>;

struct Piece {
  Identity identity;
  uint64_t bytes = 0;
  std::vector<uint32_t> tensors;  // selected ones, the oldest first
};

// The selected memory of one dump, and where each tensor lies in it.
class SelectedMemory {
 public:
  explicit SelectedMemory(const View& view) : view_(view), piece_of_(view.dump.tensors.size(), kNone) {
    for (uint32_t i = 0; i < view.accounts.items().size(); ++i) {
      if (!view.selection.item(i)) continue;
      const Item& item = view.accounts.items()[i];
      if (item.allocation == kNone && item.storage == kNone) continue;
      Piece& piece = pieces[piece_at(identity(item))];
      piece.bytes += view.selection.item_bytes(i);
    }
    for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
      serials_.emplace(view.dump.tensors[i].serial, i);
      if (!view.selection.tensor(i)) continue;
      const Item& item = view.accounts.items()[view.accounts.item_of_tensor(i)];
      if (item.allocation == kNone && item.storage == kNone) continue;
      piece_of_[i] = piece_at(identity(item));
      pieces[piece_of_[i]].tensors.push_back(i);
    }
  }

  uint32_t find(uint64_t serial) const {
    auto found = serials_.find(serial);
    return found == serials_.end() ? kNone : found->second;
  }
  uint32_t find(const Identity& identity) const {
    auto found = index_.find(identity);
    return found == index_.end() ? kNone : found->second;
  }
  bool selected(uint32_t tensor) const { return view_.selection.tensor(tensor); }
  uint32_t piece_of(uint32_t tensor) const { return piece_of_[tensor]; }  // kNone: no memory, or not selected
  const Tensor& tensor(uint32_t index) const { return view_.dump.tensors[index]; }
  uint32_t tensor_count() const { return uint32_t(view_.dump.tensors.size()); }

  std::vector<Piece> pieces;

 private:
  Identity identity(const Item& item) const {
    if (item.allocation != kNone) return {view_.dump.allocations[item.allocation].serial, 0, 0};
    const Storage& storage = view_.dump.storages[item.storage];
    return {0, storage.data_ptr, storage.nbytes};
  }
  uint32_t piece_at(const Identity& identity) {
    auto [found, fresh] = index_.try_emplace(identity, uint32_t(pieces.size()));
    if (fresh) pieces.emplace_back().identity = identity;
    return found->second;
  }

  const View& view_;
  std::map<Identity, uint32_t> index_;
  std::unordered_map<uint64_t, uint32_t> serials_;
  std::vector<uint32_t> piece_of_;
};

using ChangeKind = TensorChange::Kind;

// The tensors and the memory of two dumps of one run, side by side.
class Comparison {
 public:
  Comparison(const View& from, const View& to, Difference& out) : from_(from), to_(to), out_(out) {}

  void compare() {
    pair_pieces();
    for (uint32_t piece = 0; piece < from_.pieces.size(); ++piece) {
      if (after_[piece] == kNone) ended(from_.pieces[piece]);
    }
    for (uint32_t piece = 0; piece < to_.pieces.size(); ++piece) {
      before_[piece] == kNone ? began(to_.pieces[piece]) : stayed(from_.pieces[before_[piece]], to_.pieces[piece]);
    }
    for (uint32_t i = 0; i < from_.tensor_count(); ++i) compare_tensor(i);
    for (uint32_t i = 0; i < to_.tensor_count(); ++i) {
      if (to_.selected(i) && from_.find(to_.tensor(i).serial) == kNone) note(ChangeKind::fresh, kNone, i);
    }
  }

 private:
  // The same memory, else the memory of the same tensor: each with one of the other dump at most.
  void pair_pieces() {
    after_.assign(from_.pieces.size(), kNone);
    before_.assign(to_.pieces.size(), kNone);
    for (uint32_t piece = 0; piece < from_.pieces.size(); ++piece) {
      pair(piece, to_.find(from_.pieces[piece].identity));
    }
    for (uint32_t piece = 0; piece < from_.pieces.size(); ++piece) {
      for (uint32_t tensor : from_.pieces[piece].tensors) {
        const uint32_t now = to_.find(from_.tensor(tensor).serial);
        if (now != kNone) pair(piece, to_.piece_of(now));
      }
    }
  }
  void pair(uint32_t piece, uint32_t other) {
    if (other == kNone || after_[piece] != kNone || before_[other] != kNone) return;
    after_[piece] = other;
    before_[other] = piece;
  }

  // SelectedMemory that is not in the later selection: its tensors are gone, or not selected any more, or lie
  // elsewhere.
  void ended(const Piece& piece) {
    Amount* amount = &movement().gone;
    for (uint32_t tensor : piece.tensors) {
      const uint32_t now = to_.find(from_.tensor(tensor).serial);
      if (now == kNone) continue;
      amount = to_.selected(now) ? &movement().shrunk : &movement().left;
      if (amount == &movement().shrunk) break;
    }
    amount->bytes += piece.bytes;
    give(piece, amount, -int64_t(piece.bytes), lost_);
  }
  void began(const Piece& piece) {
    Amount* amount = &movement().fresh;
    for (uint32_t tensor : piece.tensors) {
      const uint32_t then = from_.find(to_.tensor(tensor).serial);
      if (then == kNone) continue;
      amount = from_.selected(then) ? &movement().grown : &movement().joined;
      if (amount == &movement().grown) break;
    }
    amount->bytes += piece.bytes;
    give(piece, amount, int64_t(piece.bytes), won_);
  }
  void stayed(const Piece& then, const Piece& now) {
    const int64_t growth = int64_t(now.bytes) - int64_t(then.bytes);
    const bool elsewhere = then.identity != now.identity;
    if (growth > 0) movement().grown.bytes += uint64_t(growth);
    if (growth < 0) movement().shrunk.bytes += uint64_t(-growth);
    if (growth == 0 && !elsewhere) return;
    bool counted = false;
    for (uint32_t tensor : now.tensors) {
      const uint32_t before = from_.find(to_.tensor(tensor).serial);
      if (before == kNone || !from_.selected(before)) continue;
      const ChangeKind kind = growth > 0 ? ChangeKind::grown : growth < 0 ? ChangeKind::shrunk : ChangeKind::moved;
      changed_[tensor] = {kind, counted ? 0 : growth != 0 ? growth : int64_t(now.bytes)};
      if (kind == ChangeKind::moved && !counted) movement().moved.bytes += now.bytes;
      counted = true;
    }
  }

  // The bytes of a piece stand at the first of its tensors that is what the bytes were counted as.
  void give(const Piece& piece, const Amount* amount, int64_t bytes, std::unordered_map<uint32_t, int64_t>& to) {
    const bool earlier = &to == &lost_;
    for (uint32_t tensor : piece.tensors) {
      const uint32_t other = earlier ? to_.find(from_.tensor(tensor).serial) : from_.find(to_.tensor(tensor).serial);
      const bool both = other != kNone && (earlier ? to_.selected(other) : from_.selected(other));
      const bool fits = amount == &movement().gone || amount == &movement().fresh    ? other == kNone
                        : amount == &movement().left || amount == &movement().joined ? other != kNone && !both
                                                                                     : both;
      if (!fits) continue;
      to.emplace(tensor, bytes);
      return;
    }
  }

  // A tensor of the earlier dump; those that only the later one has are new.
  void compare_tensor(uint32_t then) {
    const uint32_t now = to_.find(from_.tensor(then).serial);
    const bool before = from_.selected(then), after = now != kNone && to_.selected(now);
    if (before && now == kNone) return note(ChangeKind::gone, then, kNone);
    if (before && !after) return note(ChangeKind::left, then, now);
    if (!before && after) return note(ChangeKind::joined, then, now);
    if (!before) return;
    if (from_.tensor(then).grad == 0 && to_.tensor(now).grad != 0) note(ChangeKind::graded, then, now);
    if (auto found = changed_.find(now); found != changed_.end()) {
      return add(found->second.first, then, now, found->second.second);
    }
    const int64_t lost = lost_.contains(then) ? lost_[then] : 0, won = won_.contains(now) ? won_[now] : 0;
    if (won > 0) add(ChangeKind::grown, then, now, won);
    if (lost < 0) add(ChangeKind::shrunk, then, now, lost);
  }

  void note(ChangeKind kind, uint32_t then, uint32_t now) {
    const bool earlier = kind == ChangeKind::gone || kind == ChangeKind::left,
               later = kind == ChangeKind::fresh || kind == ChangeKind::joined;
    const auto& bytes = earlier ? lost_ : won_;
    const auto found = earlier || later ? bytes.find(earlier ? then : now) : bytes.end();
    add(kind, then, now, found == bytes.end() ? 0 : found->second);
  }
  void add(ChangeKind kind, uint32_t then, uint32_t now, int64_t bytes) {
    out_.tensor_changes.push_back({kind, then, now, bytes});
    Amount Movement::*const amounts[] = {&Movement::fresh,  &Movement::gone, &Movement::grown, &Movement::shrunk,
                                         &Movement::joined, &Movement::left, &Movement::moved};
    if (kind != ChangeKind::graded) (movement().*amounts[size_t(kind)]).tensors += 1;
  }
  Movement& movement() { return out_.movement; }

  const SelectedMemory from_, to_;
  Difference& out_;
  std::vector<uint32_t> after_, before_;                                  // of each piece the one in the other dump
  std::unordered_map<uint32_t, std::pair<ChangeKind, int64_t>> changed_;  // by tensor of the later dump
  std::unordered_map<uint32_t, int64_t> lost_, won_;                      // by tensor of the earlier, of the later dump
};

void by_serial(const View& from, const View& to, Difference& out) {
  Comparison(from, to, out).compare();
  auto size = [](int64_t value) { return value < 0 ? -uint64_t(value) : uint64_t(value); };
  std::stable_sort(out.tensor_changes.begin(), out.tensor_changes.end(),
                   [&](const TensorChange& a, const TensorChange& b) {
                     return a.kind != b.kind ? a.kind < b.kind : size(a.bytes) > size(b.bytes);
                   });
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
    const uint64_t bytes = view.selection.item_bytes(i);
    if (bytes > 0) result[key_of(item.site, view.selection.owner(i))].bytes += bytes;
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

Difference difference(const std::vector<View>& views, GroupBy by) {
  Difference result;
  const View& first = views.front();
  const View& last = views.back();
  result.same_run =
      std::all_of(views.begin(), views.end(), [&](const View& v) { return same_run(first.dump, v.dump); });
  if (result.same_run) {
    by_serial(first, last, result);
  } else {
    result.movement = by_kind(first, last);
  }

  std::map<std::string, Change> changes;
  for (size_t i = 0; i < views.size(); ++i) {
    result.bytes.push_back(views[i].selection.bytes());
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
    change.steady = grows_evenly(change.bytes);
    result.changes.push_back(std::move(change));
  }
  std::sort(result.changes.begin(), result.changes.end(), comes_before);
  return result;
}

}  // namespace tensorscope::analyzer
