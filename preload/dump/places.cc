#include "out_of_memory/places.h"

#include <cxxabi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "out_of_memory/torch_package.h"
#include "snapshot/process_info.h"
#include "stacks/native/native_stack.h"
#include "stacks/python/python_stack.h"
#include "support/copy_text.h"
#include "support/loaded_object.h"
#include "tensorscope/rules/user_code.h"

namespace tensorscope::out_of_memory {

namespace {

using code::Owner;

constexpr int kMostFrames = 48;  // of a native stack, innermost first

// A native frame's object and function, as far as the object's exported symbols tell. Copies: an object may go.
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

bool look_at_object(const LoadedObject& object, void* context) {
  const std::span<NativePlace> all = *static_cast<std::span<NativePlace>*>(context);
  const auto before = [](const NativePlace& place, uint64_t address) { return place.address < address; };
  const auto first = std::lower_bound(all.begin(), all.end(), object.begin, before);
  const auto last = std::lower_bound(first, all.end(), object.end, before);
  if (first == last) return true;
  const bool program = object.path == nullptr || *object.path == 0;
  const char* name = file_name(program ? snapshot::process_info().executable : object.path);
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
  return true;
}

// Sorts them by address.
void look_up(std::span<NativePlace> places) {
  std::sort(places.begin(), places.end(),
            [](const NativePlace& a, const NativePlace& b) { return a.address < b.address; });
  visit_objects(look_at_object, &places);
}

// Readable, and without its arguments, which say nothing about the place.
class FunctionName {
 public:
  explicit FunctionName(const NativePlace& place) {
    int status = 0;
    if (place.symbol[0] != 0) readable_ = abi::__cxa_demangle(place.symbol, nullptr, nullptr, &status);
    text_ = readable_ != nullptr ? readable_ : place.symbol;
    int depth = 0;
    for (size_t i = 0; i < text_.size(); ++i) {
      depth += text_[i] == '<' ? 1 : text_[i] == '>' ? -1 : 0;
      if (text_[i] != '(' || depth > 0 || text_.substr(i).starts_with("(anonymous")) continue;
      text_ = text_.substr(0, i);
      break;
    }
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
  NativePlace places[kMostFrames];
  size_t count = 0;
  const size_t frames = stacks::native_frame_count();
  for (StackId id = leaf; id != 0 && id < frames && count < kMostFrames;) {
    const stacks::NativeFrame frame = stacks::native_frame(id);
    places[count].address = frame.address - 1;
    places[count++].frame = id;
    id = frame.parent;
  }
  look_up({places, count});
  std::sort(places, places + count, [](const NativePlace& a, const NativePlace& b) { return a.frame > b.frame; });
  StackId library = 0, torch = 0, named = 0;
  for (size_t i = 0; i < count; ++i) {
    const NativePlace& place = places[i];
    const FunctionName function(place);
    if (place.object[0] != 0 && !code::is_process_start(function.text())) {
      const Owner owner = code::native_owner(place.object, function.text());
      if (owner == Owner::user) return place.frame;
      if (owner == Owner::library && library == 0) library = place.frame;
    }
    if (function.text().empty()) continue;
    if (named == 0) named = place.frame;
    if (torch == 0 && !code::is_allocator(function.text())) torch = place.frame;
  }
  return library != 0 ? library : torch != 0 ? torch : named != 0 ? named : leaf;
}

StackId python_headline(StackId leaf) {
  StackId library = 0;
  const std::string_view package = torch_package();
  const size_t frames = stacks::python_frame_count();
  const size_t codes = stacks::python_code_count();
  for (StackId id = leaf; id != 0 && id < frames;) {
    const stacks::PythonFrame frame = stacks::python_frame(id);
    const char* file = frame.code < codes ? stacks::python_code(frame.code).file : nullptr;
    const Owner owner = code::python_owner(file != nullptr ? file : "", package);
    if (owner == Owner::user) return id;
    if (owner == Owner::library && library == 0) library = id;
    id = frame.parent;
  }
  return library != 0 ? library : leaf;
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
    const char* function = code.name != nullptr ? code.name : "";
    char line[16] = "";
    if (frame.line > 0) snprintf(line, sizeof(line), ":%d", frame.line);
    // The end of a long path says more than its begin.
    const size_t most = sizeof(out) / 2;
    const std::string_view shown = file.size() > most ? file.substr(file.size() - most) : file;
    snprintf(out, sizeof(out), "%.*s%s %s", int(shown.size()), shown.data(), line, function);
    return;
  }
  if (headline.native == 0) return copy_text("(no stack)", out);
  NativePlace place;
  place.address = stacks::native_frame(headline.native).address - 1;
  look_up({&place, 1});
  if (place.object[0] == 0) return copy_text("code that is no longer loaded", out);
  const FunctionName function(place);
  if (!function.text().empty()) {
    snprintf(out, sizeof(out), "%s %.*s", place.object, int(function.text().size()), function.text().data());
  } else {
    snprintf(out, sizeof(out), "%s +%#lx", place.object, (unsigned long)place.offset);
  }
}

uint64_t place_key(const live::SiteCounters& site) {
  if (site.python == 0) return site.native;
  const stacks::PythonFrame frame = stacks::python_frame(python_headline(site.python));
  return uint64_t{1} << 63 | uint64_t{frame.code} << 32 | uint32_t(frame.line);
}

}  // namespace tensorscope::out_of_memory
