// SPDX-License-Identifier: Apache-2.0
#include "dump/places.h"

#include <cxxabi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "stacks/native/native_stack.h"
#include "stacks/python/python_stack.h"
#include "support/copy_text.h"
#include "support/loaded_object.h"
#include "support/process_info.h"
#include "tensorscope/rules/headline.h"
#include "torch/torch_package.h"

namespace tensorscope::dump {

namespace {

constexpr int kMaxFrames = 48;  // of a native stack, innermost first

// A native frame's object and function, as far as the object's exported symbols show. Copies: an object may go.
struct NativePlace {
  uint64_t address = 0;  // of the call
  StackId frame = 0;
  uint64_t offset = 0;   // in the object
  char object[64] = "";  // "": in none that is loaded
  char symbol[256] = "";
};

const char* file_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

// The places in this object; `all` is sorted by address.
void look_at_object(const LoadedObject& object, std::span<NativePlace> all) {
  const auto before = [](const NativePlace& place, uint64_t address) { return place.address < address; };
  const auto first = std::lower_bound(all.begin(), all.end(), object.begin, before);
  const auto last = std::lower_bound(first, all.end(), object.end, before);
  if (first == last) return;
  const bool program = object.path == nullptr || *object.path == 0;
  const char* name = file_name(program ? process_info().executable : object.path);
  for (auto place = first; place != last; ++place) {
    copy_text(name, place->object);
    place->offset = place->address - object.begin;
  }
  const uint32_t symbols = object.symbol_count();
  for (uint32_t i = 1; i < symbols; ++i) {
    const ElfW(Sym)& symbol = object.symbols[i];
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    const uint64_t begin = object.bias + symbol.st_value;
    for (auto place = std::lower_bound(first, last, begin, before);
         place != last && place->address < begin + symbol.st_size; ++place) {
      copy_text(object.strings + symbol.st_name, place->symbol);
    }
  }
}

// Sorts them by address.
void look_up(std::span<NativePlace> places) {
  std::sort(places.begin(), places.end(),
            [](const NativePlace& a, const NativePlace& b) { return a.address < b.address; });
  visit_objects([&](const LoadedObject& object) {
    look_at_object(object, places);
    return true;
  });
}

// Readable, and without its parameters, which say nothing about the place.
class FunctionName {
 public:
  explicit FunctionName(const NativePlace& place) {
    int status = 0;
    if (place.symbol[0] != 0) readable_ = abi::__cxa_demangle(place.symbol, nullptr, nullptr, &status);
    text_ = rules::without_parameters(readable_ != nullptr ? readable_ : place.symbol);
  }
  ~FunctionName() { free(readable_); }
  FunctionName(const FunctionName&) = delete;
  FunctionName& operator=(const FunctionName&) = delete;
  std::string_view text() const { return text_; }

 private:
  char* readable_ = nullptr;
  std::string_view text_;
};

StackId native_headline(StackId leaf) {
  NativePlace places[kMaxFrames];
  size_t count = 0;
  const size_t frames = stacks::native_frame_count();
  for (StackId id = leaf; id != 0 && id < frames && count < kMaxFrames;) {
    const stacks::NativeFrame frame = stacks::native_frame(id);
    places[count].address = frame.address - 1;
    places[count++].frame = id;
    id = frame.parent;
  }
  look_up({places, count});
  std::sort(places, places + count, [](const NativePlace& a, const NativePlace& b) { return a.frame > b.frame; });
  rules::NativeHeadline headline;
  for (size_t i = 0; i < count; ++i) {
    if (headline.add(places[i].object, FunctionName(places[i]).text())) break;
  }
  return count != 0 ? places[headline.frame()].frame : leaf;
}

StackId parent_of(StackId id) { return stacks::python_frame(id).parent; }

StackId python_headline(StackId leaf) {
  if (leaf >= stacks::python_frame_count()) return leaf;
  const std::string_view package = torch::torch_package();
  const size_t codes = stacks::python_code_count();
  return rules::python_headline(leaf, parent_of, [&](StackId id) {
    const uint32_t code = stacks::python_frame(id).code;
    const char* file = code < codes ? stacks::python_code(code).file : nullptr;
    return code::python_owner(file != nullptr ? file : "", package);
  });
}

}  // namespace

Headline headline(const live::SiteCounters& site) {
  if (site.python != 0) return {python_headline(site.python), 0};
  return {0, site.native == 0 ? 0 : native_headline(site.native)};
}

void write_place(const Headline& headline, const char* directory, char (&out)[kPlaceBytes]) {
  if (headline.python != 0) {
    const stacks::PythonFrame frame = stacks::python_frame(headline.python);
    const stacks::PythonCode code = stacks::python_code(frame.code);
    const std::string_view file = code::short_path(code.file != nullptr ? code.file : "?", directory);
    const auto name = [](StackId id) -> std::string_view {
      const char* text = stacks::python_code(stacks::python_frame(id).code).name;
      return text != nullptr ? text : "";
    };
    const std::string_view function =
        rules::function_around(headline.python, stacks::python_names_are_qualified(), parent_of, name);
    char line[16] = "";
    if (frame.line > 0) snprintf(line, sizeof(line), ":%d", frame.line);
    // The end of a long path says more than its begin.
    const size_t most = sizeof(out) / 2;
    const std::string_view shown = text_end(file, most);
    snprintf(out, sizeof(out), "%.*s%s %.*s", int(shown.size()), shown.data(), line, int(function.size()),
             function.data());
    return;
  }
  if (headline.native == 0) return copy_text("(no stack)", out);
  NativePlace place;
  place.address = stacks::native_frame(headline.native).address - 1;
  look_up({&place, 1});
  if (place.object[0] == 0) return copy_text("code no longer loaded", out);
  const FunctionName function(place);
  if (!function.text().empty()) {
    const auto [scope, name] = rules::headline_function(function.text());
    snprintf(out, sizeof(out), "%s %.*s%.*s", place.object, int(scope.size()), scope.data(), int(name.size()),
             name.data());
  } else {
    snprintf(out, sizeof(out), "%s +%#lx", place.object, (unsigned long)place.offset);
  }
}

uint64_t place_key(const live::SiteCounters& site) {
  if (site.python == 0) return site.native;
  const stacks::PythonFrame frame = stacks::python_frame(python_headline(site.python));
  return uint64_t{1} << 63 | uint64_t{frame.code} << 32 | uint32_t(frame.line);
}

}  // namespace tensorscope::dump
