#include "model/selection.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <regex.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "dump_generated.h"

namespace tensorscope::model {

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

bool dims_match(const std::vector<std::string>& pattern, size_t p, const std::vector<int64_t>& sizes, size_t s) {
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
    throw BadFilter(fmt::format("--stack: '{}' is no regular expression: {}.", text, message));
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
      std::string text = fmt::format("{}:{} {} {}", frame.file, frame.line, frame.function, frame.module);
      for (const auto& regex : regexes_) {
        if (regex->matches(text)) return true;
      }
    }
    return false;
  }

  static bool line_matches(const std::string& pattern, const Place& place) {
    std::string file = pattern;
    size_t colon = pattern.rfind(':');
    if (colon != std::string::npos && colon + 1 < pattern.size() &&
        pattern.find_first_not_of("0123456789", colon + 1) == std::string::npos) {
      if (std::to_string(place.frame.line) != pattern.substr(colon + 1)) return false;
      file = pattern.substr(0, colon);
    }
    const std::string& path = place.frame.file.empty() ? place.frame.module : place.frame.file;
    return path_matches(file, path) || file == place.file;
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
      if (!category_named(name)) throw BadFilter(fmt::format("--category: there is no category '{}'.", name));
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
                 filter_.requires_grad;
    if (!asked) return true;
    if (tensor == kNone) return false;
    const Tensor& entry = dump_.tensors[tensor];
    auto set = [&](dump::TensorKnown known, dump::TensorFlag flag) {
      return (entry.known & uint32_t(known)) != 0 && (entry.flags & uint32_t(flag)) != 0;
    };
    if (filter_.leaf && !set(dump::TensorKnown::leaf, dump::TensorFlag::leaf)) return false;
    if (filter_.with_grad && entry.grad == 0) return false;
    if (filter_.requires_grad && !set(dump::TensorKnown::requires_grad, dump::TensorFlag::requires_grad)) return false;
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
  // The C++ class, or the Python class where there is an object.
  bool class_matches(const std::string& pattern, uint32_t tensor) const {
    return name_matches(pattern, dump_.tensors[tensor].class_name) ||
           (dump_.references.present && dump_.references.tensors[tensor].known &&
            name_matches(pattern, dump_.references.tensors[tensor].type_name));
  }
  static bool has_shape(const Tensor& tensor) { return (tensor.known & uint32_t(dump::TensorKnown::sizes)) != 0; }

  const Dump& dump_;
  const Holders& holders_;
  Places& places_;
  const Filter& filter_;
};

}  // namespace

bool Filter::empty() const {
  if (!names.empty() || !holders.empty() || leaf || with_grad || requires_grad) return false;
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
  return fnmatch(escaped.c_str(), label.c_str(), 0) == 0;
}

bool path_matches(const std::string& pattern, const std::string& path) {
  if (pattern == path || path.ends_with("/" + pattern)) return true;
  if (!is_glob(pattern)) return false;
  return fnmatch(pattern.c_str(), path.c_str(), 0) == 0 || fnmatch(("*/" + pattern).c_str(), path.c_str(), 0) == 0;
}

bool shape_matches(const std::string& pattern, const std::vector<int64_t>& sizes) {
  return dims_match(split_shape(pattern), 0, sizes, 0);
}

uint32_t effective_site(const Dump& dump, const Accounts& accounts, Places& places, uint32_t tensor) {
  uint32_t own = dump.tensors[tensor].site;
  uint32_t owner = accounts.items()[accounts.item_of_tensor(tensor)].site;
  if (own == owner || owner == 0) return own;
  return own == 0 || places.at(own).where == places.at(owner).where ? owner : own;
}

Selection::Selection(const Dump& dump, const Accounts& accounts, const Holders& holders, Places& places,
                     const Filter& filter) {
  Matcher matcher(dump, holders, places, filter);
  SiteFilter site(places, filter);
  tensors_.assign(dump.tensors.size(), true);
  items_.assign(accounts.items().size(), true);
  if (filter.empty()) return;
  for (uint32_t i = 0; i < items_.size(); ++i) {
    const Item& item = accounts.items()[i];
    const uint32_t speaker = item.storage != kNone ? holders.speaker(item.storage) : item.tensor;
    items_[i] = matcher.what(item.tensor) && matcher.meaning(speaker, item.site) && matcher.device(item.device) &&
                matcher.thread(item.thread) && matcher.size(item.bytes) && matcher.age(item.created_ns) &&
                site.passes(item.site);
  }
  for (uint32_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = dump.tensors[i];
    tensors_[i] = matcher.what(i) && matcher.meaning(i, tensor.site) && matcher.device(tensor.device) &&
                  matcher.thread(tensor.thread) && matcher.size(accounts.items()[accounts.item_of_tensor(i)].bytes) &&
                  matcher.age(tensor.created_ns) &&
                  (site.empty() || site.passes(effective_site(dump, accounts, places, i)));
  }
}

uint64_t Selection::tensor_count() const { return uint64_t(std::count(tensors_.begin(), tensors_.end(), true)); }

uint64_t Selection::bytes(const Accounts& accounts) const {
  uint64_t sum = 0;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (items_[i]) sum += accounts.items()[i].bytes;
  }
  return sum;
}

}  // namespace tensorscope::model
