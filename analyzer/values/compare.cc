// SPDX-License-Identifier: Apache-2.0
#include "values/compare.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "values/element_type.h"
#include "values/wrapped_names.h"

namespace tensorscope::values {

namespace {

using format::StepMode;

constexpr size_t kMaxBefore = 3;
constexpr size_t kPairsAtOnce = 8192;  // values of each file in memory

// Names of both runs, each text once.
class Names {
 public:
  explicit Names(const std::vector<Rename>& renames) : renames_(renames) {}

  // From `find_partners()`: names of B that are those of A under a wrapper or without one, and names that either file
  // has twice, of a wrapper and of what it wraps.
  void set_partners(Partners partners) { partners_ = std::move(partners); }
  bool is_wrapped(std::string_view name) const {
    return !partners_.wrapped.empty() && partners_.wrapped.contains(renamed(name));
  }

  uint32_t of(std::string_view name, std::string_view operation = "") {
    std::string text = renamed(name);
    if (const auto partner = partners_.of_b.find(text); partner != partners_.of_b.end()) text = partner->second;
    if (!operation.empty()) text.append(" ").append(operation);
    const auto [known, is_new] = numbers_.emplace(text, uint32_t(texts_.size()));
    if (is_new) texts_.push_back(std::move(text));
    return known->second;
  }
  std::vector<std::string>& texts() { return texts_; }

  std::string renamed(std::string_view name) const {
    for (const Rename& rename : renames_) {
      if (!name.starts_with(rename.from)) continue;
      const std::string_view rest = name.substr(rename.from.size());
      const bool goes_on = !rest.empty() && (std::isalnum(uint8_t(rest.front())) || rest.front() == '_');
      if (!goes_on) return rename.to + std::string(rest);
    }
    return std::string(name);
  }

 private:
  const std::vector<Rename>& renames_;
  Partners partners_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string> texts_;
};

// What makes a value or call of one run that of the other.
struct Key {
  uint32_t name = 0;
  uint8_t kind = 0;  // a value's place; whether a call is a backward
  StepMode mode = StepMode::unknown;
  uint32_t step = 0;
  uint32_t pass = 0;  // zero-based index among the passes with this name in the step
  uint32_t index = 0;
  uint32_t repeat = 0;  // zero-based index among those with all of these

  auto operator<=>(const Key&) const = default;
  bool same_step(const Key& other) const {
    return std::tie(name, kind, mode, step) == std::tie(other.name, other.kind, other.mode, other.step);
  }
};

struct Entry {
  Key key;
  uint64_t id = 0;  // a value's serial; a call's index
  uint64_t time_ns = 0;
};

using StepName = std::pair<StepMode, uint32_t>;

// Sorts by key; passes become numbers within their step.
void settle(std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.key, a.id) < std::tie(b.key, b.id); });
  uint32_t pass = 0, number = 0;
  Key before;
  for (size_t i = 0; i < entries.size(); ++i) {
    Key& key = entries[i].key;
    if (i == 0 || !key.same_step(before)) {
      number = 0;
    } else if (key.pass != pass) {
      ++number;
    }
    pass = key.pass;
    key.pass = number;
    Key alike = before;
    alike.repeat = 0;
    if (i > 0 && alike == key) key.repeat = before.repeat + 1;
    before = key;
  }
}

// Calls `both` for what is on both sides, `one` for what is on one: its entry, and whether that is A.
template <typename Both, typename One>
void join(const std::vector<Entry>& a, const std::vector<Entry>& b, const Both& both, const One& one) {
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (j == b.size() || (i < a.size() && a[i].key < b[j].key)) {
      one(a[i++], true);
    } else if (i == a.size() || b[j].key < a[i].key) {
      one(b[j++], false);
    } else {
      both(a[i++], b[j++]);
    }
  }
}

std::vector<Entry> entries_of(const ValuesFile& file, Names& names) {
  std::vector<Entry> entries;
  file.for_each_value([&](const Value& value) {
    if (names.is_wrapped(value.name)) return true;
    entries.push_back({{.name = names.of(value.name, value.operation),
                        .kind = uint8_t(value.place),
                        .mode = value.mode,
                        .step = value.step,
                        .pass = value.pass,
                        .index = value.index},
                       value.serial,
                       value.time_ns});
    return true;
  });
  settle(entries);
  return entries;
}

// Of values and of modules that were called, as renamed.
std::set<std::string> names_of(const ValuesFile& file, const Names& names) {
  std::unordered_set<std::string_view> seen;
  std::set<std::string> all;
  const auto add = [&](std::string_view name) {
    if (seen.insert(name).second) all.insert(names.renamed(name));
    return true;
  };
  file.for_each_value([&](const Value& value) { return add(value.name); });
  file.for_each_call([&](const Call& call) { return add(call.module); });
  return all;
}

std::set<StepName> steps_of(const std::vector<Entry>& entries) {
  std::set<StepName> steps;
  for (const Entry& entry : entries) steps.emplace(entry.key.mode, entry.key.step);
  return steps;
}

// What one run alone has, put together from its entries.
class OnlyHereMaker {
 public:
  OnlyHereMaker(const std::vector<Entry>& mine, const std::vector<Entry>& others, size_t names)
      : steps_(steps_of(mine)), other_steps_(steps_of(others)), theirs_(names) {
    for (const Entry& entry : others) theirs_[entry.key.name] = true;
  }

  void add(const Entry& entry) {
    if (!theirs_[entry.key.name]) {
      auto& [time, count] = names_.emplace(entry.key.name, std::pair{entry.time_ns, 0}).first->second;
      time = std::min(time, entry.time_ns);
      ++count;
    } else if (const StepName step{entry.key.mode, entry.key.step}; !other_steps_.contains(step)) {
      ++by_step_[step];
    } else {
      if (!first_ || entry.time_ns < first_->time_ns) first_ = entry;
      ++values_;
    }
  }

  UnmatchedNames take(const std::vector<std::string>& names) const {
    UnmatchedNames result;
    std::vector<std::tuple<uint64_t, uint32_t, uint64_t>> in_time;
    for (const auto& [name, seen] : names_) in_time.emplace_back(seen.first, name, seen.second);
    std::sort(in_time.begin(), in_time.end());
    for (const auto& [time, name, count] : in_time) result.names.push_back({names[name], count});
    result.values = values_;
    if (first_) result.first_value = names[first_->key.name];
    // One range goes on until a step that both have.
    std::set<StepName> all = steps_;
    all.insert(other_steps_.begin(), other_steps_.end());
    bool open = false;
    for (const StepName& step : all) {
      const auto found = by_step_.find(step);
      if (found == by_step_.end()) {
        open = false;
        continue;
      }
      if (!open || result.steps.back().mode != step.first) {
        result.steps.push_back({.mode = step.first, .first = step.second});
      }
      open = true;
      result.steps.back().last = step.second;
      result.steps.back().values += found->second;
    }
    return result;
  }

 private:
  std::set<StepName> steps_, other_steps_;
  std::vector<bool> theirs_;  // by name
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> names_;
  std::map<StepName, uint64_t> by_step_;
  std::optional<Entry> first_;
  uint64_t values_ = 0;
};

// The pair of beginnings that would make most names of one run names of the other.
std::optional<Rename> rename_hint(const std::vector<OneSided>& a, const std::vector<OneSided>& b) {
  std::unordered_map<std::string_view, std::string_view> by_end;  // what follows a "." -> what is before
  const auto each_end = [](std::string_view name, const auto& f) {
    for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
      if (dot > 0 && f(name.substr(dot + 1), name.substr(0, dot))) return;
    }
  };
  for (const OneSided& name : b) {
    each_end(name.name,
             [&](std::string_view end, std::string_view begin) { return by_end.emplace(end, begin), false; });
  }
  std::map<std::pair<std::string_view, std::string_view>, size_t> votes;
  for (const OneSided& name : a) {
    each_end(name.name, [&](std::string_view end, std::string_view begin) {
      const auto found = by_end.find(end);
      if (found == by_end.end()) return false;
      ++votes[{found->second, begin}];
      return true;
    });
  }
  const auto best = std::max_element(votes.begin(), votes.end(), [](auto& x, auto& y) { return x.second < y.second; });
  if (best == votes.end() || 2 * best->second < std::min(a.size(), b.size())) return std::nullopt;
  return Rename{std::string(best->first.first), std::string(best->first.second)};
}

bool is_rounded(int dtype) { return is_floating(dtype) || is_complex(dtype); }

class RunComparer {
 public:
  RunComparer(const ValuesFile& a, const ValuesFile& b, const std::vector<Rename>& renames,
              const ChosenTolerance& chosen)
      : a_(a), b_(b), chosen_(chosen), names_(renames) {}

  RunComparison compare() {
    names_.set_partners(find_partners(names_of(a_, names_), names_of(b_, names_)));
    align_values();
    compare_pairs();
    describe_first();
    compare_calls();
    result_.hint = rename_hint(result_.only_a.names, result_.only_b.names);
    result_.names = std::move(names_.texts());
    return std::move(result_);
  }

 private:
  void align_values() {
    const std::vector<Entry> a = entries_of(a_, names_), b = entries_of(b_, names_);
    OnlyHereMaker only_a(a, b, names_.texts().size()), only_b(b, a, names_.texts().size());
    join(
        a, b,
        [this](const Entry& x, const Entry& y) {
          result_.pairs.push_back({.a = x.id,
                                   .b = y.id,
                                   .time_ns = x.time_ns,
                                   .name = x.key.name,
                                   .step = x.key.step,
                                   .mode = x.key.mode,
                                   .place = format::ValuePlace(x.key.kind)});
        },
        [&](const Entry& entry, bool in_a) { (in_a ? only_a : only_b).add(entry); });
    std::sort(result_.pairs.begin(), result_.pairs.end(),
              [](const Pair& x, const Pair& y) { return std::tie(x.time_ns, x.a) < std::tie(y.time_ns, y.a); });
    result_.only_a = only_a.take(names_.texts());
    result_.only_b = only_b.take(names_.texts());
  }

  // Values of one file that lie close to each other in it, mostly.
  template <typename Serial>
  static std::unordered_map<uint64_t, Value> values_of(const ValuesFile& file, std::span<const Pair> pairs,
                                                       const Serial& serial) {
    std::unordered_set<uint64_t> wanted;
    for (const Pair& pair : pairs) wanted.insert(serial(pair));
    std::unordered_map<uint64_t, Value> found;
    file.for_each_value_after(*std::min_element(wanted.begin(), wanted.end()) - 1, [&](const Value& value) {
      if (wanted.contains(value.serial)) found.emplace(value.serial, value);
      return found.size() < wanted.size();
    });
    return found;
  }

  void compare_pairs() {
    std::map<std::pair<StepMode, uint32_t>, size_t> steps;
    std::set<std::tuple<int, int, uint32_t>> dtypes;
    std::map<int, Tolerance> tolerances;
    std::set<uint32_t> names;
    std::unordered_map<uint64_t, Value> of_a, of_b;
    for (size_t i = 0; i < result_.pairs.size(); ++i) {
      Pair& pair = result_.pairs[i];
      if (i % kPairsAtOnce == 0) {
        const std::span<const Pair> window(&pair, std::min(kPairsAtOnce, result_.pairs.size() - i));
        of_a = values_of(a_, window, [](const Pair& each) { return each.a; });
        of_b = values_of(b_, window, [](const Pair& each) { return each.b; });
      }
      const Value &a = of_a.at(pair.a), &b = of_b.at(pair.b);
      // What was rounded in one run alone goes on into all that follows.
      if (a.dtype != b.dtype && is_rounded(a.dtype) && is_rounded(b.dtype)) {
        chosen_.at_least = coarser_dtype(chosen_.at_least, coarser_dtype(a.dtype, b.dtype));
      }
      pair.at_least = chosen_.at_least;
      const Comparison compared = compare_values(a_, a, b_, b, chosen_);
      pair.call = a.call;
      pair.pass = a.pass;
      pair.verdict = compared.verdict;
      pair.basis = compared.basis;
      pair.absolute = compared.absolute;
      pair.relative = compared.relative;
      pair.excess = compared.excess;
      if (a.dtype != b.dtype) dtypes.emplace(a.dtype, b.dtype, pair.name);
      const auto [at, is_new] = steps.emplace(std::pair{pair.mode, pair.step}, result_.steps.size());
      if (is_new) result_.steps.push_back({.mode = pair.mode, .step = pair.step, .pass = pair.pass});
      if (compared.verdict == Verdict::not_comparable) {
        ++result_.not_comparable;
        continue;
      }
      if (a.is_tensor()) tolerances.emplace(compared.dtype, compared.tolerance);
      names.insert(pair.name);
      count(compared);
      StepDifference& step = result_.steps[at->second];
      ++step.compared;
      step.different += compared.verdict == Verdict::different;
      if (compared.relative > step.relative) {
        step.relative = compared.relative;
        step.name = pair.name;
      }
    }
    std::erase_if(result_.steps, [](const StepDifference& step) { return step.compared == 0; });
    result_.names_compared = names.size();
    result_.tolerances.assign(tolerances.begin(), tolerances.end());
    std::map<std::pair<int, int>, uint64_t> changed;
    for (const auto& [a, b, name] : dtypes) ++changed[{a, b}];
    for (const auto& [ends, count] : changed) result_.dtypes.push_back({ends.first, ends.second, count});
  }

  void count(const Comparison& compared) {
    ++result_.compared;
    result_.different += compared.verdict == Verdict::different;
    result_.by_elements += compared.basis == Basis::elements;
    result_.by_hash += compared.basis == Basis::hash;
    result_.by_statistics += compared.basis == Basis::statistics;
  }

  void describe_first() {
    const auto found = std::find_if(result_.pairs.begin(), result_.pairs.end(),
                                    [](const Pair& pair) { return pair.verdict == Verdict::different; });
    if (found == result_.pairs.end()) return;
    FirstDifference first;
    first.pair = size_t(found - result_.pairs.begin());
    first.a = *a_.value(found->a);
    first.b = *b_.value(found->b);
    chosen_.at_least = found->at_least;
    first.comparison = compare_values(a_, first.a, b_, first.b, chosen_);
    for (size_t i = 0; i < first.pair && found->call != 0; ++i) {
      const Pair& pair = result_.pairs[i];
      if (pair.call == found->call && pair.place == format::ValuePlace::input) first.inputs.push_back(i);
    }
    std::set<uint32_t> told;
    for (size_t i = first.pair; i-- > 0 && first.inputs.empty() && first.before.size() < kMaxBefore;) {
      const Pair& pair = result_.pairs[i];
      if (std::tie(pair.mode, pair.step, pair.pass) != std::tie(found->mode, found->step, found->pass)) break;
      if (pair.verdict == Verdict::equal && told.insert(pair.name).second) first.before.push_back(i);
    }
    if (found->call != 0) {
      a_.for_each_call([&](const Call& call) {
        if (call.id == found->call) first.call = call;
        return !first.call;
      });
    }
    result_.first = std::move(first);
  }

  struct Calls {
    std::vector<Call> calls;
    std::vector<Entry> entries;
    std::map<uint32_t, std::string_view> classes;  // by module
  };
  static Calls calls_of(const ValuesFile& file, Names& names) {
    Calls result;
    file.for_each_call([&](const Call& call) {
      if (names.is_wrapped(call.module)) return true;
      const uint32_t module = names.of(call.module);
      result.entries.push_back({{.name = module,
                                 .kind = uint8_t(call.backward),
                                 .mode = call.mode,
                                 .step = call.step,
                                 .pass = call.pass,
                                 .index = call.index},
                                result.calls.size(),
                                call.end_ns});
      if (!call.class_name.empty()) result.classes.emplace(module, call.class_name);
      result.calls.push_back(call);
      return true;
    });
    settle(result.entries);
    return result;
  }

  void compare_calls() {
    const Calls a = calls_of(a_, names_), b = calls_of(b_, names_);
    if (a.calls.empty() || b.calls.empty()) return;
    OnlyHereMaker only_a(a.entries, b.entries, names_.texts().size()),
        only_b(b.entries, a.entries, names_.texts().size());
    join(
        a.entries, b.entries,
        [&](const Entry& x, const Entry& y) {
          ++result_.calls_compared;
          const Call &mine = a.calls[x.id], &other = b.calls[y.id];
          if (mine.raised == other.raised) return;
          if (result_.raised && result_.raised->time_ns <= x.time_ns) return;
          result_.raised = RaisedAlone{mine.raised ? mine : other, mine.raised, x.time_ns};
        },
        [&](const Entry& entry, bool in_a) { (in_a ? only_a : only_b).add(entry); });
    result_.only_a.modules = only_a.take(names_.texts()).names;
    result_.only_b.modules = only_b.take(names_.texts()).names;
    for (const auto& [module, name] : a.classes) {
      const auto other = b.classes.find(module);
      if (other == b.classes.end() || other->second == name) continue;
      result_.classes.push_back({names_.texts()[module], std::string(name), std::string(other->second)});
    }
  }

  const ValuesFile &a_, &b_;
  ChosenTolerance chosen_;
  Names names_;
  RunComparison result_;
};

}  // namespace

RunComparison compare_runs(const ValuesFile& a, const ValuesFile& b, const std::vector<Rename>& renames,
                           const ChosenTolerance& chosen) {
  return RunComparer(a, b, renames, chosen).compare();
}

}  // namespace tensorscope::values
