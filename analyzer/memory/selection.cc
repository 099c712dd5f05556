// SPDX-License-Identifier: Apache-2.0
#include "memory/selection.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "dump_generated.h"
#include "support/dotted_path.h"
#include "tensorscope/rules/interval_union.h"

namespace tensorscope::analyzer {

namespace {

bool is_glob(const std::string& pattern) { return pattern.find_first_of("*?[") != std::string::npos; }

std::vector<std::string> split_shape(const std::string& text) {
  std::vector<std::string> dims;
  std::string current;
  for (char c : text) {
    if (c == ',' || c == 'x') {
      dims.push_back(current);
      current.clear();
    } else if (c != ' ' && c != '[' && c != ']' && c != '(' && c != ')') {
      current += c;
    }
  }
  if (!current.empty() || !dims.empty()) dims.push_back(current);
  if (!dims.empty() && dims.back().empty()) dims.pop_back();  // "(64,)"
  return dims;
}

bool dims_match(const std::vector<std::string>& pattern, size_t p, std::span<const int64_t> sizes, size_t s) {
  if (p == pattern.size()) return s == sizes.size();
  if (pattern[p] == "...") {
    if (p + 1 == pattern.size()) return true;
    for (size_t skip = s; skip <= sizes.size(); ++skip) {
      if (dims_match(pattern, p + 1, sizes, skip)) return true;
    }
    return false;
  }
  if (s == sizes.size()) return false;
  bool any = pattern[p] == "*" || pattern[p] == "?";
  return (any || pattern[p] == std::to_string(sizes[s])) && dims_match(pattern, p + 1, sizes, s + 1);
}

template <typename Matches>
bool any_of(const std::vector<std::string>& patterns, Matches matches) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(), matches);
}

std::string plain_dtype(const std::string& text) { return text.starts_with("torch.") ? text.substr(6) : text; }

bool device_matches(const std::string& pattern, const std::string& device) {
  return pattern == device || (device.starts_with(pattern) && device[pattern.size()] == ':');
}

class Regex {
 public:
  explicit Regex(const std::string& text) {
    int error = regcomp(&regex_, text.c_str(), REG_EXTENDED | REG_NOSUB);
    if (error == 0) return;
    char message[128];
    regerror(error, &regex_, message, sizeof message);
    throw BadFilter({FilterField::stack, FilterMistake::Reason::malformed, text, {}, {}, message});
  }
  ~Regex() { regfree(&regex_); }
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;
  bool matches(const std::string& text) const { return regexec(&regex_, text.c_str(), 0, nullptr, 0) == 0; }

 private:
  regex_t regex_{};
};

// What depends on the site alone, asked once a site.
class SiteFilter {
 public:
  SiteFilter(Places& places, const Filter& filter) : places_(places), filter_(filter) {
    for (const std::string& text : filter.stacks) regexes_.push_back(std::make_unique<Regex>(text));
  }
  bool empty() const { return filter_.functions.empty() && filter_.lines.empty() && regexes_.empty(); }
  bool passes(uint32_t site) {
    if (empty()) return true;
    auto [found, fresh] = known_.try_emplace(site, false);
    if (fresh) found->second = evaluate(site);
    return found->second;
  }

 private:
  bool evaluate(uint32_t site) {
    const Place& place = places_.at(site);
    bool named = any_of(filter_.functions, [&](const std::string& p) { return name_matches(p, place.function); }) &&
                 any_of(filter_.lines, [&](const std::string& p) { return line_matches(p, place); });
    if (!named) return false;
    if (regexes_.empty()) return true;
    for (const Frame& frame : places_.stack(site)) {
      std::string text =
          fmt::format("{}:{} {} {}{}", frame.file, frame.line, frame.function, frame.object, frame.module);
      for (const auto& regex : regexes_) {
        if (regex->matches(text)) return true;
      }
    }
    return false;
  }

  Places& places_;
  const Filter& filter_;
  std::vector<std::unique_ptr<Regex>> regexes_;
  std::unordered_map<uint32_t, bool> known_;
};

class Matcher {
 public:
  Matcher(const Dump& dump, const Holders& holders, Places& places, const Filter& filter)
      : dump_(dump), holders_(holders), places_(places), filter_(filter) {
    for (const std::string& name : filter.categories) {
      if (category_named(name)) continue;
      throw BadFilter({FilterField::category, FilterMistake::Reason::unknown, name, {}, category_names()});
    }
  }

  bool what(uint32_t tensor) const {
    bool asked = !(filter_.dtypes.empty() && filter_.shapes.empty() && filter_.classes.empty());
    if (!asked) return true;
    if (tensor == kNone) return false;
    const Tensor& entry = dump_.tensors[tensor];
    return any_of(filter_.dtypes, [&](const std::string& p) { return plain_dtype(p) == entry.dtype_text(); }) &&
           any_of(filter_.classes, [&](const std::string& p) { return class_matches(p, tensor); }) &&
           any_of(filter_.shapes,
                  [&](const std::string& p) { return has_shape(entry) && shape_matches(p, entry.sizes); });
  }

  // Of the tensor that speaks for an item; `site` for what is in no tensor.
  bool meaning(uint32_t tensor, uint32_t site) const {
    if (!any_of(filter_.categories, [&](const std::string& p) { return category_named(p) == category_of(tensor); }) ||
        !any_of(filter_.modules, [&](const std::string& p) { return name_matches(p, module_of(tensor, site)); })) {
      return false;
    }
    bool asked = !filter_.names.empty() || !filter_.holders.empty() || filter_.leaf || filter_.with_grad ||
                 filter_.requires_grad || filter_.not_in_optimizer;
    if (!asked) return true;
    if (tensor == kNone) return false;
    const Tensor& entry = dump_.tensors[tensor];
    auto set = [&](format::TensorKnown known, format::TensorFlag flag) {
      return (entry.known & uint32_t(known)) != 0 && (entry.flags & uint32_t(flag)) != 0;
    };
    if (filter_.leaf && !set(format::TensorKnown::leaf, format::TensorFlag::leaf)) return false;
    if (filter_.with_grad && entry.grad == 0) return false;
    if (filter_.requires_grad && !set(format::TensorKnown::requires_grad, format::TensorFlag::requires_grad))
      return false;
    if (filter_.not_in_optimizer &&
        !(set(format::TensorKnown::leaf, format::TensorFlag::leaf) &&
          set(format::TensorKnown::requires_grad, format::TensorFlag::requires_grad) && known_untrained(tensor))) {
      return false;
    }
    const std::vector<std::string>& names = holders_.names(tensor);
    const std::vector<Holder>& holders = holders_.holders(tensor);
    return any_of(filter_.names,
                  [&](const std::string& p) {
                    return std::any_of(names.begin(), names.end(),
                                       [&](const std::string& name) { return label_matches(p, name); });
                  }) &&
           any_of(filter_.holders, [&](const std::string& p) {
             return std::any_of(holders.begin(), holders.end(),
                                [&](const Holder& holder) { return label_matches(p, holder.text); });
           });
  }

  bool device(Device device) const {
    return any_of(filter_.devices, [&](const std::string& p) { return device_matches(p, device.text()); });
  }

  bool thread(uint32_t index) const {
    if (filter_.threads.empty()) return true;
    if (index >= dump_.threads.size()) return false;
    const Thread& thread = dump_.threads[index];
    return any_of(filter_.threads, [&](const std::string& p) {
      return p == std::to_string(thread.tid) || name_matches(p, thread.name);
    });
  }

  bool size(uint64_t bytes) const {
    return bytes >= filter_.min_size.value_or(0) && bytes <= filter_.max_size.value_or(UINT64_MAX);
  }

  bool age(uint64_t created_ns) const {
    uint64_t now = dump_.process.dump_ns;
    uint64_t age = created_ns < now ? now - created_ns : 0;
    return age >= filter_.min_age_ns.value_or(0) && age <= filter_.max_age_ns.value_or(UINT64_MAX);
  }

 private:
  Category category_of(uint32_t tensor) const {
    return tensor == kNone ? Category::workspace : holders_.category(tensor);
  }
  const std::string& module_of(uint32_t tensor, uint32_t site) const {
    return tensor == kNone ? places_.module_path(site) : holders_.module(tensor);
  }
  // Names were looked up in Python, and no optimizer has it in its param_groups.
  bool known_untrained(uint32_t tensor) const {
    return dump_.references.present && dump_.references.tensors[tensor].known &&
           !dump_.references.tensors[tensor].optimized;
  }
  // The C++ class, or the Python class where there is an object.
  bool class_matches(const std::string& pattern, uint32_t tensor) const {
    return name_matches(pattern, dump_.tensors[tensor].class_name) ||
           (dump_.references.present && dump_.references.tensors[tensor].known &&
            name_matches(pattern, dump_.references.tensors[tensor].type_name));
  }
  static bool has_shape(const Tensor& tensor) { return (tensor.known & uint32_t(format::TensorKnown::sizes)) != 0; }

  const Dump& dump_;
  const Holders& holders_;
  Places& places_;
  const Filter& filter_;
};

}  // namespace

bool Filter::empty() const {
  if (!names.empty() || !holders.empty() || leaf || with_grad || requires_grad || not_in_optimizer) return false;
  bool words = dtypes.empty() && devices.empty() && shapes.empty() && threads.empty() && categories.empty() &&
               classes.empty() && modules.empty() && functions.empty() && lines.empty() && stacks.empty();
  return words && !min_size && !max_size && !min_age_ns && !max_age_ns;
}

bool name_matches(const std::string& pattern, const std::string& name) {
  return is_glob(pattern) ? fnmatch(pattern.c_str(), name.c_str(), 0) == 0 : name.find(pattern) != std::string::npos;
}

bool label_matches(const std::string& pattern, const std::string& label) {
  if (pattern.find_first_of("*?") == std::string::npos) return label.find(pattern) != std::string::npos;
  std::string escaped;
  for (char c : pattern) escaped += c == '[' || c == ']' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return fnmatch(escaped.c_str(), label.c_str(), 0) == 0 ||
         fnmatch(escaped.c_str(), std::string(without_scope(label)).c_str(), 0) == 0;
}

std::string_view without_scope(std::string_view label) {
  if (const size_t colon = label.find(": "); colon != std::string_view::npos) label.remove_prefix(colon + 2);
  if (const size_t bracket = label.rfind(" ("); bracket != std::string_view::npos && label.ends_with(')')) {
    label = label.substr(0, bracket);
  }
  return label;
}

std::pair<std::string, std::string> file_and_line(const std::string& pattern) {
  const size_t colon = pattern.rfind(':');
  const bool line = colon != std::string::npos && colon + 1 < pattern.size() &&
                    pattern.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  if (!line) return {pattern, ""};
  return {pattern.substr(0, colon), pattern.substr(colon + 1)};
}

bool line_matches(const std::string& pattern, const Place& place) {
  const auto [file, line] = file_and_line(pattern);
  if (!line.empty() && std::to_string(place.frame.line) != line) return false;
  const std::string& path = place.frame.file.empty() ? place.frame.object : place.frame.file;
  return path_matches(file, path) || file == place.file;
}

bool path_matches(const std::string& pattern, const std::string& path) {
  if (pattern == path || path.ends_with("/" + pattern)) return true;
  if (!is_glob(pattern)) return false;
  return fnmatch(pattern.c_str(), path.c_str(), 0) == 0 || fnmatch(("*/" + pattern).c_str(), path.c_str(), 0) == 0;
}

bool shape_matches(const std::string& pattern, std::span<const int64_t> sizes) {
  return dims_match(split_shape(pattern), 0, sizes, 0);
}

bool is_shape(const std::string& pattern) {
  const std::vector<std::string> dims = split_shape(pattern);
  const bool empty = pattern.find_first_not_of(" []()") == std::string::npos;
  return !pattern.empty() && (empty || !dims.empty()) &&
         std::all_of(dims.begin(), dims.end(),
                     [](const std::string& dim) { return is_number(dim) || dim == "*" || dim == "?" || dim == "..."; });
}

uint32_t effective_site(const Dump& dump, const Accounts& accounts, Places& places, uint32_t tensor) {
  uint32_t own = dump.tensors[tensor].site;
  uint32_t owner = accounts.items()[accounts.item_of_tensor(tensor)].site;
  if (own == owner || owner == 0) return own;
  return own == 0 || places.at(own).where == places.at(owner).where ? owner : own;
}

// What the tensors of an earlier dump were counted for, by their ids.
struct Selection::Earlier {
  explicit Earlier(const Selection* selection) {
    if (selection == nullptr) return;
    known = true;
    if (!selection->dump_->tensors.empty()) newest = selection->dump_->tensors.back().serial;
    for (uint32_t i = 0; i < selection->items_.size(); ++i) {
      const Item& item = selection->accounts_->items()[i];
      if (!selection->items_[i] || item.storage == kNone) continue;
      const Storage& storage = selection->dump_->storages[item.storage];
      if (storage.tensors.size() > 1) spoke.insert(selection->dump_->tensors[selection->representatives_[i]].serial);
      if (selection->item_bytes_[i] < storage.nbytes + item.rounding) {
        for (uint32_t tensor : storage.tensors) shared.insert(selection->dump_->tensors[tensor].serial);
      }
    }
  }
  std::unordered_set<uint64_t> spoke;   // for a storage of several tensors
  std::unordered_set<uint64_t> shared;  // other storages counted a part of theirs
  bool known = false;
  uint64_t newest = 0;
};

Selection::Selection(const Dump& dump, const Accounts& accounts, const Holders& holders, Places& places,
                     const Filter& filter, const Selection* earlier)
    : dump_(&dump), accounts_(&accounts) {
  choose(holders, places, filter);
  const Earlier before(earlier);
  count_bytes(!filter.empty(), before);
  choose_speakers(holders, before);
}

template <typename Visit>
void Selection::each_tensor(const Item& item, Visit visit) const {
  if (item.storage == kNone) {
    if (item.tensor != kNone) visit(item.tensor);
    return;
  }
  for (uint32_t tensor : dump_->storages[item.storage].tensors) visit(tensor);
}

void Selection::choose(const Holders& holders, Places& places, const Filter& filter) {
  Matcher matcher(*dump_, holders, places, filter);
  SiteFilter site(places, filter);
  tensors_.assign(dump_->tensors.size(), true);
  items_.assign(accounts_->items().size(), true);
  if (filter.empty()) return;
  std::vector<bool> fits(tensors_.size());
  for (uint32_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = dump_->tensors[i];
    fits[i] = matcher.what(i) && matcher.meaning(i, tensor.site);
    tensors_[i] = fits[i] && matcher.device(tensor.device) && matcher.thread(tensor.thread) &&
                  matcher.size(accounts_->items()[accounts_->item_of_tensor(i)].bytes) &&
                  matcher.age(tensor.created_ns) &&
                  (site.empty() || site.passes(effective_site(*dump_, *accounts_, places, i)));
  }
  for (uint32_t i = 0; i < items_.size(); ++i) {
    const Item& item = accounts_->items()[i];
    uint32_t first = kNone;
    each_tensor(item, [&](uint32_t tensor) { first = fits[tensor] ? std::min(first, tensor) : first; });
    const bool fitting =
        item.tensor != kNone ? first != kNone : matcher.what(kNone) && matcher.meaning(kNone, item.site);
    items_[i] = fitting && matcher.device(item.device) && matcher.thread(item.thread) && matcher.size(item.bytes) &&
                matcher.age(item.created_ns) && site.passes(item.site);
    if (items_[i] && first != kNone) tensors_[first] = true;
  }
}

// Of storages that overlap, the first one counts the common part: those that counted it before, then the oldest.
void Selection::count_bytes(bool filtered, const Earlier& earlier) {
  const std::vector<Item>& items = accounts_->items();
  item_bytes_.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i) item_bytes_[i] = items[i].bytes;
  const bool overlap = std::any_of(dump_->storages.begin(), dump_->storages.end(),
                                   [](const Storage& storage) { return storage.own_nbytes < storage.nbytes; });
  if (!overlap || (!filtered && !earlier.known)) return;
  std::array<std::vector<uint32_t>, 3> ranks;  // whole before, new, in part before
  for (uint32_t i = 0; i < items.size(); ++i) {
    if (!items_[i] || items[i].storage == kNone || dump_->storages[items[i].storage].data_ptr == 0) continue;
    size_t rank = 1;
    each_tensor(items[i], [&](uint32_t tensor) {
      const uint64_t serial = dump_->tensors[tensor].serial;
      if (earlier.shared.contains(serial)) {
        rank = 2;
      } else if (serial <= earlier.newest) {
        rank = 0;
      }
    });
    ranks[rank].push_back(i);
  }
  std::map<Device, rules::IntervalUnion> counted;
  for (const std::vector<uint32_t>& rank : ranks) {
    for (uint32_t i : rank) {
      const Storage& storage = dump_->storages[items[i].storage];
      if (storage.nbytes == 0) continue;
      const uint64_t own = counted[storage.device].add(storage.data_ptr, storage.data_ptr + storage.nbytes);
      item_bytes_[i] = own + items[i].rounding;
    }
  }
}

void Selection::choose_speakers(const Holders& holders, const Earlier& earlier) {
  const std::vector<Item>& items = accounts_->items();
  owners_.assign(items.size(), kNone);
  representatives_.assign(items.size(), kNone);
  for (uint32_t i = 0; i < items.size(); ++i) {
    if (!items_[i]) continue;
    uint32_t spoke = kNone;
    each_tensor(items[i], [&](uint32_t tensor) {
      if (!tensors_[tensor]) return;
      owners_[i] = std::min(owners_[i], tensor);
      if (earlier.spoke.contains(dump_->tensors[tensor].serial)) spoke = tensor;
    });
    const uint32_t best = items[i].storage != kNone ? holders.representative(items[i].storage) : items[i].tensor;
    if (spoke != kNone) {
      representatives_[i] = spoke;
    } else if (best != kNone && tensors_[best]) {
      representatives_[i] = best;
    } else {
      const uint32_t named = first_named(items[i], holders);
      representatives_[i] = named != kNone ? named : owners_[i];
    }
  }
}

// Of the selected tensors of an item the first with a name: names are made for all tensors when the first is asked for.
uint32_t Selection::first_named(const Item& item, const Holders& holders) const {
  uint32_t named = kNone;
  each_tensor(item, [&](uint32_t tensor) {
    if (tensor < named && tensors_[tensor] && !holders.names(tensor).empty()) named = tensor;
  });
  return named;
}

uint64_t Selection::tensor_count() const { return uint64_t(std::count(tensors_.begin(), tensors_.end(), true)); }

uint64_t Selection::bytes() const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < items_.size(); ++i) sum += item_bytes(i);
  return sum;
}

}  // namespace tensorscope::analyzer
