// SPDX-License-Identifier: Apache-2.0
#include "memory/filter_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <type_traits>
#include <unordered_set>

#include "dump/reader.h"
#include "dump/type_names.h"
#include "dump_generated.h"
#include "memory/nearest_words.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMaxNear = 5;

// What people call dtypes elsewhere.
constexpr std::pair<const char*, const char*> kOtherDtypes[] = {
    {"fp64", "float64"},  {"f64", "float64"},       {"double", "float64"}, {"fp32", "float32"}, {"f32", "float32"},
    {"float", "float32"}, {"single", "float32"},    {"fp16", "float16"},   {"f16", "float16"},  {"half", "float16"},
    {"bf16", "bfloat16"}, {"fp8", "float8_e4m3fn"}, {"long", "int64"},     {"i64", "int64"},    {"int", "int32"},
    {"i32", "int32"},     {"short", "int16"},       {"char", "int8"},      {"byte", "uint8"},   {"boolean", "bool"}};

// Words in the order of how many tensors have them.
std::vector<std::string> by_number(const std::vector<View>& views,
                                   const std::function<std::string(const View&, uint32_t)>& of) {
  std::map<std::string, uint64_t> numbers;
  for (const View& view : views) {
    for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) ++numbers[of(view, i)];
  }
  numbers.erase("");
  std::vector<std::pair<uint64_t, std::string>> order;
  for (const auto& [word, number] : numbers) order.emplace_back(number, word);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> words;
  for (auto& [number, word] : order) words.push_back(std::move(word));
  return words;
}

std::vector<std::string> dtypes_of(const std::vector<View>& views) {
  return by_number(views, [](const View& view, uint32_t i) {
    const Tensor& tensor = view.dump.tensors[i];
    return tensor.known & uint32_t(format::TensorKnown::dtype) ? tensor.dtype_text() : "";
  });
}

std::vector<std::string> devices_of(const std::vector<View>& views) {
  std::set<Device> devices;
  for (const View& view : views) {
    for (const Item& item : view.accounts.items()) {
      if (item.device.type >= 0) devices.insert(item.device);
    }
  }
  std::vector<std::string> words;
  for (Device device : devices) words.push_back(device.text());
  return words;
}

std::vector<std::string> shapes_of(const std::vector<View>& views) {
  return by_number(views, [](const View& view, uint32_t i) {
    const std::string text = view.dump.tensors[i].shape_text();
    return text == "?" ? "" : text;
  });
}

// Places that made something that is alive.
std::vector<const Place*> places_of(const View& view) {
  std::unordered_set<uint32_t> sites;
  for (const Item& item : view.accounts.items()) sites.insert(item.site);
  for (const Tensor& tensor : view.dump.tensors) sites.insert(tensor.site);
  view.places.prefetch({sites.begin(), sites.end()}, false);
  std::vector<const Place*> places;
  for (uint32_t site : sites) places.push_back(&view.places.at(site));
  return places;
}

const std::string& file_of(const Place& place) {
  return !place.file.empty() ? place.file : place.frame.file.empty() ? place.frame.object : place.frame.file;
}

std::vector<std::string> files_of(const std::vector<View>& views) {
  std::map<std::string, uint64_t> bytes;
  for (const View& view : views) {
    for (const Item& item : view.accounts.items()) bytes[file_of(view.places.at(item.site))] += item.bytes;
    for (const Tensor& tensor : view.dump.tensors) bytes[file_of(view.places.at(tensor.site))] += 0;
  }
  bytes.erase("");
  std::vector<std::string> files;
  for (const auto& [file, size] : bytes) files.push_back(file);
  std::stable_sort(files.begin(), files.end(),
                   [&](const std::string& a, const std::string& b) { return bytes[a] > bytes[b]; });
  return files;
}

bool file_is_known(const std::string& pattern, const std::vector<View>& views) {
  const std::string file = file_and_line(pattern).first;
  for (const View& view : views) {
    for (const Code& code : view.dump.codes) {
      if (path_matches(file, code.file)) return true;
    }
    for (const SharedObject& object : view.dump.shared_objects) {
      if (path_matches(file, object.path)) return true;
    }
    for (const Place* place : places_of(view)) {
      if (line_matches(file, *place)) return true;
    }
  }
  return false;
}

[[noreturn]] void bad_value(FilterField field, const std::string& value, std::vector<std::string> near,
                            std::vector<std::string> present) {
  throw BadFilter({field, FilterMistake::Reason::unknown, value, std::move(near), std::move(present)});
}

void check_dtype(const std::string& word, const std::vector<View>& views) {
  const std::string name = word.starts_with("torch.") ? word.substr(6) : word;
  std::vector<std::string> all;
  for (int i = 0; !dtype_name(i).starts_with("dtype "); ++i) all.push_back(dtype_name(i));
  std::vector<std::string> there = dtypes_of(views);
  for (const auto* known : {&all, &there}) {
    if (std::find(known->begin(), known->end(), name) != known->end()) return;
  }
  for (const auto& [other, meant] : kOtherDtypes) {
    if (name == other) bad_value(FilterField::dtype, word, {meant}, there);
  }
  bad_value(FilterField::dtype, word, nearest_words(name, all), there);
}

void check_device(const std::string& word, const std::vector<View>& views) {
  const std::vector<std::string> there = devices_of(views);
  std::vector<std::string> all;
  for (int i = 0; !device_type_name(i).starts_with("device type "); ++i) all.push_back(device_type_name(i));
  const std::string type = word.substr(0, word.find(':'));
  const bool index = type == word || (word.size() > type.size() + 1 &&
                                      word.find_first_not_of("0123456789", type.size() + 1) == std::string::npos);
  if (index && std::find(all.begin(), all.end(), type) != all.end()) return;
  if (std::find(there.begin(), there.end(), word) != there.end()) return;
  bad_value(FilterField::device, word, nearest_words(word, there), there);
}

void check_shape(const std::string& word, const std::vector<View>& views) {
  if (is_shape(word)) return;
  throw BadFilter({FilterField::shape, FilterMistake::Reason::malformed, word, {}, shapes_of(views)});
}

void check_line(const std::string& word, const std::vector<View>& views) {
  if (file_is_known(word, views)) return;
  const std::vector<std::string> files = files_of(views);
  const std::string file = file_and_line(word).first;
  std::vector<std::string> names;
  for (const std::string& path : files) names.push_back(path.substr(path.rfind('/') + 1));
  bad_value(FilterField::line, file, nearest_words(file.substr(file.rfind('/') + 1), names), files);
}

// One filter of several, and what the dumps have in its place.
struct OneFilter {
  NoMatch answer;
  Filter filter;
  std::function<void(NoMatch&)> compare;
};

bool matches_anything(const Filter& filter, const std::vector<View>& views) {
  return std::any_of(views.begin(), views.end(), [&](const View& view) {
    const Selection selection(view.dump, view.accounts, view.holders, view.places, filter);
    return selection.tensor_count() > 0 || selection.bytes() > 0;
  });
}

std::vector<std::string> sorted(std::set<std::string> words) {
  words.erase("");
  return {words.begin(), words.end()};
}

void compare_names(const std::vector<View>& views, NoMatch& answer) {
  const bool holders = answer.field == FilterField::holder;
  std::set<std::string> all;
  for (const View& view : views) {
    for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
      if (!holders) all.insert(view.holders.names(i).begin(), view.holders.names(i).end());
      for (const Holder& holder : view.holders.holders(i)) {
        if (holders) all.insert(holder.root);
      }
    }
  }
  const std::vector<std::string> words = sorted(std::move(all));
  answer.names_known = !words.empty();
  answer.near = nearest_words(answer.values.front(), words, kMaxNear);
  if (holders) answer.present = words;
}

void compare_lines(const std::vector<View>& views, NoMatch& answer) {
  const std::string file = file_and_line(answer.values.front()).first;
  std::set<int> lines;
  for (const View& view : views) {
    for (const Place* place : places_of(view)) {
      if (place->frame.line > 0 && line_matches(file, *place)) lines.insert(place->frame.line);
    }
  }
  for (int line : lines) answer.present.push_back(std::to_string(line));
}

void compare_functions(const std::vector<View>& views, NoMatch& answer) {
  std::set<std::string> functions;
  for (const View& view : views) {
    for (const Place* place : places_of(view)) functions.insert(place->function);
  }
  answer.near = nearest_words(answer.values.front(), sorted(std::move(functions)), kMaxNear);
}

void compare_modules(const std::vector<View>& views, NoMatch& answer) {
  answer.present = by_number(views, [](const View& view, uint32_t i) { return view.holders.module(i); });
  answer.near = nearest_words(answer.values.front(), answer.present, kMaxNear);
}

std::vector<std::string> categories_of(const std::vector<View>& views) {
  return by_number(views, [](const View& view, uint32_t i) { return std::string(text(view.holders.category(i))); });
}

std::vector<std::string> classes_of(const std::vector<View>& views) {
  return by_number(views, [](const View& view, uint32_t i) { return view.dump.tensors[i].class_name; });
}

std::vector<std::string> threads_of(const std::vector<View>& views) {
  std::set<std::string> names;
  for (const View& view : views) {
    for (const Thread& thread : view.dump.threads) names.insert(thread.name);
  }
  return sorted(std::move(names));
}

// Each filter by itself. `views` outlives what is returned.
class FilterParts {
 public:
  FilterParts(const Filter& filter, const std::vector<View>& views) : filter_(filter), views_(views) {
    add(FilterField::dtype, &Filter::dtypes, dtypes_of);
    add(FilterField::device, &Filter::devices, devices_of);
    add(FilterField::shape, &Filter::shapes, shapes_of);
    add(FilterField::line, &Filter::lines, compare_lines);
    add(FilterField::function, &Filter::functions, compare_functions);
    add(FilterField::name, &Filter::names, compare_names);
    add(FilterField::holder, &Filter::holders, compare_names);
    add(FilterField::module, &Filter::modules, compare_modules);
    add(FilterField::category, &Filter::categories, categories_of);
    add(FilterField::class_name, &Filter::classes, classes_of);
    add(FilterField::thread, &Filter::threads, threads_of);
    add(FilterField::stack, &Filter::stacks, [](const std::vector<View>&, NoMatch&) {});
    add(FilterField::leaf, &Filter::leaf);
    add(FilterField::with_grad, &Filter::with_grad);
    add(FilterField::requires_grad, &Filter::requires_grad);
    add(FilterField::not_in_optimizer, &Filter::not_in_optimizer);
    add(FilterField::min_size, &Filter::min_size);
    add(FilterField::max_size, &Filter::max_size);
    add(FilterField::min_age, &Filter::min_age_ns);
    add(FilterField::max_age, &Filter::max_age_ns);
  }
  std::vector<OneFilter> take() { return std::move(parts_); }

 private:
  using Words = std::vector<std::string>;

  void add(FilterField field, Words Filter::*values, Words (*present)(const std::vector<View>&)) {
    add(field, values, [present](const std::vector<View>& views, NoMatch& answer) { answer.present = present(views); });
  }
  template <typename Compare>
  requires std::is_invocable_v < Compare, const std::vector<View>
  &, NoMatch& > void add(FilterField field, Words Filter::*values, Compare compare) {
    if ((filter_.*values).empty()) return;
    OneFilter part{{NoMatch::Reason::one_filter, field, filter_.*values}, {}, nullptr};
    part.filter.*values = filter_.*values;
    part.compare = [&views = views_, compare](NoMatch& answer) { compare(views, answer); };
    parts_.push_back(std::move(part));
  }
  template <typename Value>
  void add(FilterField field, Value Filter::*value) {
    if (!(filter_.*value)) return;
    OneFilter part{{NoMatch::Reason::one_filter, field}, {}, nullptr};
    part.filter.*value = filter_.*value;
    parts_.push_back(std::move(part));
  }

  const Filter& filter_;
  const std::vector<View>& views_;
  std::vector<OneFilter> parts_;
};

}  // namespace

void check_values(const Filter& filter, const std::vector<View>& views) {
  for (const std::string& word : filter.dtypes) check_dtype(word, views);
  for (const std::string& word : filter.devices) check_device(word, views);
  for (const std::string& word : filter.shapes) check_shape(word, views);
  for (const std::string& word : filter.lines) check_line(word, views);
  if (!filter.not_in_optimizer) return;
  const bool known =
      std::any_of(views.begin(), views.end(), [](const View& view) { return view.dump.references.present; });
  if (!known) {
    throw BadFilter({FilterField::not_in_optimizer, FilterMistake::Reason::not_recorded, ""});
  }
}

Device device_named(const std::string& name, const std::vector<Device>& known, const std::string& file) {
  std::string names;
  for (Device device : known) {
    if (device.text() == name || (name == "cuda" && device.text() == "cuda:0")) return device;
    names += (names.empty() ? "" : ", ") + device.text();
  }
  throw BadInput(fmt::format("invalid value '{}' for --device; {} has {}.", name, file, names));
}

NoMatch why_nothing(const Filter& filter, const std::vector<View>& views) {
  if (filter.empty()) return {};
  std::vector<OneFilter> parts = FilterParts(filter, views).take();
  for (OneFilter& part : parts) {
    if (parts.size() > 1 && matches_anything(part.filter, views)) continue;
    if (part.compare) part.compare(part.answer);
    return part.answer;
  }
  return {.reason = NoMatch::Reason::all_together};
}

}  // namespace tensorscope::analyzer
