#include "memory/filter_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_set>

#include "dump/type_names.h"
#include "dump_generated.h"
#include "memory/nearest_words.h"

namespace tensorscope::model {

namespace {

constexpr size_t kMostShown = 5;  // names in one sentence

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
  return !place.file.empty() ? place.file : place.frame.file.empty() ? place.frame.module : place.frame.file;
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
    for (const SharedObject& module : view.dump.shared_objects) {
      if (path_matches(file, module.path)) return true;
    }
    for (const Place* place : places_of(view)) {
      if (line_matches(file, *place)) return true;
    }
  }
  return false;
}

[[noreturn]] void bad_value(const char* option, const std::string& what, const std::string& word, std::string near,
                            const std::string& has) {
  throw BadFilter(fmt::format("invalid value '{}' for {}: there is no such {}{}{}", word, option, what,
                              near.empty() ? "; " : near + " ", has));
}

std::string what_there_is(const std::vector<std::string>& words) {
  return words.empty() ? "the dump has none." : "the dump has " + listed(words, kMostShown) + ".";
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
    if (name == other)
      bad_value("--dtype", "dtype", word, fmt::format("; did you mean {}?", meant), what_there_is(there));
  }
  bad_value("--dtype", "dtype", word, did_you_mean(name, all), what_there_is(there));
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
  bad_value("--device", "device", word, did_you_mean(word, there), what_there_is(there));
}

void check_shape(const std::string& word, const std::vector<View>& views) {
  if (is_shape(word)) return;
  throw BadFilter(fmt::format("invalid value '{}' for --shape: shapes look like 64,1024 or 64,* or ...,3; {}", word,
                              what_there_is(shapes_of(views))));
}

void check_line(const std::string& word, const std::vector<View>& views) {
  if (file_is_known(word, views)) return;
  const std::vector<std::string> files = files_of(views);
  const std::string has = files.empty() ? "no live tensor has a source file."
                                        : "files that created live tensors: " + listed(files, kMostShown) + ".";
  const std::string file = file_and_line(word).first;
  std::vector<std::string> names;
  for (const std::string& path : files) names.push_back(path.substr(path.rfind('/') + 1));
  bad_value("--line", "file", file, did_you_mean(file.substr(file.rfind('/') + 1), names), has);
}

// One filter with one value, and what the dumps have in its place.
struct OneFilter {
  std::string text;  // "--name 'loss'"
  Filter filter;
  std::function<std::string()> instead;
};

bool matches_anything(const Filter& filter, const std::vector<View>& views) {
  return std::any_of(views.begin(), views.end(), [&](const View& view) {
    const Selection selection(view.dump, view.accounts, view.holders, view.places, filter);
    return selection.tensor_count() > 0 || selection.bytes() > 0;
  });
}

std::string near_names(const std::vector<View>& views, const std::string& word, bool holders) {
  std::set<std::string> all;
  for (const View& view : views) {
    for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
      if (!holders) all.insert(view.holders.names(i).begin(), view.holders.names(i).end());
      for (const Holder& holder : view.holders.holders(i)) {
        if (holders && !holder.root.empty()) all.insert(holder.root);
      }
    }
  }
  if (all.empty()) return "the dump has no names (see tensorscope info)";
  const std::vector<std::string> near = nearest_words(word, {all.begin(), all.end()}, kMostShown);
  if (near.empty() && holders) return "the dump has " + listed({all.begin(), all.end()}, kMostShown);
  return near.empty() ? "" : "the dump has " + listed(near, kMostShown);
}

std::string lines_of(const std::vector<View>& views, const std::string& pattern) {
  const std::string file = file_and_line(pattern).first;
  std::set<int> lines;
  for (const View& view : views) {
    for (const Place* place : places_of(view)) {
      if (place->frame.line > 0 && line_matches(file, *place)) lines.insert(place->frame.line);
    }
  }
  if (lines.empty()) return "--line matches the innermost line of your own code; --stack matches any frame";
  std::vector<std::string> words;
  for (int line : lines) words.push_back(std::to_string(line));
  return fmt::format("lines of {} that created live tensors: {}", file, listed(words));
}

std::vector<OneFilter> filters_of(const Filter& filter, const std::vector<View>& views) {
  std::vector<OneFilter> parts;
  auto add = [&](const char* option, std::vector<std::string> Filter::*field, auto instead) {
    if ((filter.*field).empty()) return;
    OneFilter part;
    for (const std::string& word : filter.*field)
      part.text += fmt::format("{}{} '{}'", part.text.empty() ? "" : " ", option, word);
    part.filter.*field = filter.*field;
    part.instead = [&views, word = (filter.*field).front(), instead] { return std::string(instead(views, word)); };
    parts.push_back(std::move(part));
  };
  auto nothing = [](const std::vector<View>&, const std::string&) { return ""; };
  auto has = [](std::vector<std::string> (*words)(const std::vector<View>&)) {
    return [words](const std::vector<View>& all, const std::string&) { return "the dump has " + listed(words(all)); };
  };
  add("--dtype", &Filter::dtypes, has(dtypes_of));
  add("--device", &Filter::devices, has(devices_of));
  add("--shape", &Filter::shapes, has(shapes_of));
  add("--line", &Filter::lines, lines_of);
  add("--function", &Filter::functions, [](const auto& all, const std::string& word) {
    std::set<std::string> functions;
    for (const View& view : all) {
      for (const Place* place : places_of(view)) functions.insert(place->function);
    }
    functions.erase("");
    const std::vector<std::string> near = nearest_words(word, {functions.begin(), functions.end()}, kMostShown);
    return near.empty() ? "" : "the dump has " + listed(near, kMostShown);
  });
  add("--name", &Filter::names, [](const auto& all, const auto& word) { return near_names(all, word, false); });
  add("--holder", &Filter::holders, [](const auto& all, const auto& word) { return near_names(all, word, true); });
  add("--module", &Filter::modules, [](const auto& all, const std::string& word) {
    std::vector<std::string> paths =
        by_number(all, [](const View& view, uint32_t i) { return view.holders.module(i); });
    std::vector<std::string> near = nearest_words(word, paths, kMostShown);
    return paths.empty() ? "no live tensor belongs to a module"
                         : "the dump has " + listed(near.empty() ? paths : near, kMostShown);
  });
  add("--category", &Filter::categories, [](const auto& all, const std::string&) {
    return "the dump has " + listed(by_number(all, [](const View& view, uint32_t i) {
             return std::string(text(view.holders.category(i)));
           }));
  });
  add("--class", &Filter::classes, [](const auto& all, const std::string&) {
    return "the dump has " +
           listed(by_number(all, [](const View& view, uint32_t i) { return view.dump.tensors[i].class_name; }));
  });
  add("--thread", &Filter::threads, [](const auto& all, const std::string&) {
    std::set<std::string> names;
    for (const View& view : all) {
      for (const Thread& thread : view.dump.threads) names.insert(thread.name);
    }
    names.erase("");
    return "the dump has " + listed({names.begin(), names.end()});
  });
  add("--stack", &Filter::stacks, nothing);
  auto flag = [&](const char* option, bool Filter::*field) {
    if (!(filter.*field)) return;
    OneFilter part{option, {}, nullptr};
    part.filter.*field = true;
    parts.push_back(std::move(part));
  };
  flag("--leaf", &Filter::leaf);
  flag("--with-grad", &Filter::with_grad);
  flag("--requires-grad", &Filter::requires_grad);
  flag("--not-in-optimizer", &Filter::not_in_optimizer);
  auto limit = [&](const char* option, std::optional<uint64_t> Filter::*field) {
    if (!(filter.*field)) return;
    OneFilter part{option, {}, nullptr};
    part.filter.*field = filter.*field;
    parts.push_back(std::move(part));
  };
  limit("--min-size", &Filter::min_size);
  limit("--max-size", &Filter::max_size);
  limit("--min-age", &Filter::min_age_ns);
  limit("--max-age", &Filter::max_age_ns);
  return parts;
}

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
    throw BadFilter("--not-in-optimizer needs names, which the dump does not have (see tensorscope info).");
  }
}

std::string why_nothing(const Filter& filter, const std::vector<View>& views) {
  if (filter.empty()) return "no live tensors";
  const std::vector<OneFilter> parts = filters_of(filter, views);
  for (const OneFilter& part : parts) {
    if (parts.size() > 1 && matches_anything(part.filter, views)) continue;
    const std::string instead = part.instead ? part.instead() : "";
    return fmt::format("nothing matches {}{}{}", part.text, instead.empty() ? "" : "; ", instead);
  }
  return "each filter matches something, but nothing matches all of them";
}

}  // namespace tensorscope::model
