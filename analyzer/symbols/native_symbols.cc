// SPDX-License-Identifier: Apache-2.0
#include "symbols/native_symbols.h"

#include <algorithm>
#include <set>

namespace tensorscope::analyzer {

namespace {

const std::vector<CodePlace> kNowhere = {{"", "", 0, false}};

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string file_fingerprint(const std::string& path, const RegularFile& file) {
  const struct stat& status = file.status();
  return path + ":" + std::to_string(status.st_size) + ":" + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec);
}

std::string debug_file_name(const std::string& directory, const std::string& build_id) {
  return directory + "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
}

}  // namespace

struct NativeSymbols::ObjectFiles {
  explicit ObjectFiles(const SharedObject& object, const std::string& cache_directory)
      : object(object), cache(cache_directory, object.build_id) {}
  const SharedObject& object;
  SymbolCache cache;
  std::string binary_path;
  RegularFile binary_file, debug_file;  // candidates; read when first needed
  std::unique_ptr<SymbolFile> binary, debug;
  bool opened = false;
  std::string note;

  void open();
  std::vector<CodePlace> look_up(uint64_t address);
};

void NativeSymbols::ObjectFiles::open() {
  if (opened) return;
  opened = true;
  // A dump may name any file: nothing of it is used before its build-id was compared.
  auto open_same = [&](RegularFile& file, const std::string& path) -> std::unique_ptr<SymbolFile> {
    if (!file) return nullptr;
    auto symbols = SymbolFile::open(std::move(file));
    if (symbols && symbols->build_id() == object.build_id) return symbols;
    if (!path.empty()) {
      note = path + (symbols ? " changed since the dump was written (different build-id): its functions have no names."
                             : " is not an ELF file on this machine: its functions have no names.");
    }
    return nullptr;
  };
  binary = open_same(binary_file, binary_path);
  debug = open_same(debug_file, "");
  if (debug) note.clear();
  if (!binary && !debug && note.empty() && object.path.starts_with('/')) {
    note = object.path + " is not on this machine: its functions have no names (--sysroot, --debug-dir).";
  }
}

// The separate debug file knows more, if there is one; the binary itself always has the dynamic symbols.
std::vector<CodePlace> NativeSymbols::ObjectFiles::look_up(uint64_t address) {
  open();
  std::vector<CodePlace> places;
  if (debug) places = debug->look_up(address);
  if (binary && (places.empty() || places.back().function.empty())) {
    std::vector<CodePlace> from_binary = binary->look_up(address);
    if (places.empty() || !from_binary.back().function.empty()) places = std::move(from_binary);
  }
  return places.empty() ? kNowhere : places;
}

NativeSymbols::NativeSymbols(const Dump& dump, SymbolOptions options)
    : dump_(dump),
      options_(std::move(options)),
      cache_directory_(options_.use_cache ? default_cache_directory() : "") {}

NativeSymbols::~NativeSymbols() = default;

const SharedObject* NativeSymbols::object_at(uint64_t return_address) const {
  if (return_address == 0) return nullptr;
  const uint64_t address = return_address - 1;
  auto after = std::upper_bound(dump_.shared_objects.begin(), dump_.shared_objects.end(), address,
                                [](uint64_t value, const SharedObject& object) { return value < object.begin; });
  if (after == dump_.shared_objects.begin() || std::prev(after)->end <= address) return nullptr;
  return &*std::prev(after);
}

NativeSymbols::ObjectFiles& NativeSymbols::files_of(const SharedObject& object) {
  std::unique_ptr<ObjectFiles>& files = files_[&object];
  if (!files) {
    files = std::make_unique<ObjectFiles>(object, cache_directory_);
    find_files(*files);
  }
  return *files;
}

void NativeSymbols::find_files(ObjectFiles& files) {
  const std::string &id = files.object.build_id, &path = files.object.path, &sysroot = options_.sysroot;
  std::string source;
  // An object of no file (the vdso, a deleted one) has no slash in its name.
  if (path.starts_with('/') && id.empty() && sysroot.empty()) {
    files.opened = true;
    files.note = path + " has no build-id and cannot be identified: its functions have no names (--sysroot).";
  } else if (path.starts_with('/')) {
    files.binary_path = sysroot + path;
    files.binary_file = sysroot.empty() ? RegularFile::open(path) : RegularFile::open_in_root(sysroot, path);
    if (files.binary_file) source = file_fingerprint(files.binary_path, files.binary_file);
  }
  if (id.size() > 2) {
    auto look_in = [&](const std::string& directory, RegularFile file) {
      if (files.debug_file || !file) return;
      source += "|" + file_fingerprint(debug_file_name(directory, id), file);
      files.debug_file = std::move(file);
    };
    for (const std::string& directory : options_.debug_dirs) {
      look_in(directory, RegularFile::open(debug_file_name(directory, id)));
    }
    const std::string standard = debug_file_name("/usr/lib/debug", id);
    look_in(sysroot + "/usr/lib/debug",
            sysroot.empty() ? RegularFile::open(standard) : RegularFile::open_in_root(sysroot, standard));
  }
  // New files are only better than old answers if they are of this very object.
  if (!source.empty() && source != files.cache.source()) {
    files.open();
    if (files.binary || files.debug) files.cache.set_source(source);
  }
}

const std::vector<CodePlace>& NativeSymbols::places(uint64_t return_address) {
  auto [found, fresh] = known_.try_emplace(return_address, &kNowhere);
  if (!fresh) return *found->second;
  const SharedObject* object = options_.native ? object_at(return_address) : nullptr;
  if (!object) return *found->second;
  ObjectFiles& files = files_of(*object);
  const uint64_t address = return_address - 1 - object->load_bias;
  const std::vector<CodePlace>* places = files.cache.find(address);
  if (!places) {
    std::vector<CodePlace> fresh_places = files.look_up(address);
    if (!files.binary && !files.debug) return *found->second;  // not worth remembering
    places = &files.cache.add(address, std::move(fresh_places));
  }
  found->second = places;
  return *places;
}

std::vector<Frame> NativeSymbols::frames(uint32_t leaf) {
  std::vector<Frame> out;
  for (uint32_t id = leaf < dump_.native_frames.size() ? leaf : 0; id != 0; id = dump_.native_frames[id].parent) {
    const uint64_t address = dump_.native_frames[id].address;
    const SharedObject* object = object_at(address);
    for (const CodePlace& place : places(address)) {
      out.push_back({Frame::Language::native, place.function, place.file, place.line,
                     object ? file_name(object->path) : "", address, place.inlined});
    }
  }
  return out;
}

const SharedObject* NativeSymbols::unread_object(const Frame& frame) {
  const bool unnamed = frame.language == Frame::Language::native && frame.function.empty();
  return unnamed ? unread_object(frame.address) : nullptr;
}

const SharedObject* NativeSymbols::unread_object(uint64_t return_address) {
  const SharedObject* object = object_at(return_address);
  const bool has_file = object && object->path.starts_with('/');
  return has_file && &places(return_address) == &kNowhere ? object : nullptr;
}

void NativeSymbols::save() {
  for (auto& [object, files] : files_) files->cache.save();
}

SymbolCheck NativeSymbols::check() {
  std::set<const SharedObject*> wanted;
  for (const NativeFrame& frame : dump_.native_frames) {
    if (const SharedObject* object = object_at(frame.address)) wanted.insert(object);
  }
  SymbolCheck out;
  for (const SharedObject* object : wanted) {
    if (!object->path.starts_with('/')) continue;
    ObjectFiles& files = files_of(*object);
    files.open();
    out.wanted++;
    if (files.binary || files.debug) out.found++;
  }
  out.notes = notes();
  return out;
}

std::vector<std::string> NativeSymbols::notes() const {
  std::vector<std::string> out;
  for (const auto& [object, files] : files_) {
    if (!files->note.empty()) out.push_back(files->note);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tensorscope::analyzer
