// SPDX-License-Identifier: Apache-2.0
#include "symbols/symbols.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "symbols/native_symbols.h"
#include "symbols/source_lines.h"
#include "symbols/stack_merge.h"
#include "symbols/unread.h"
#include "symbols/user_code.h"
#include "tensorscope/rules/headline.h"

namespace tensorscope::analyzer {

namespace {

std::vector<std::string> source_folders(const SymbolOptions& options) {
  std::vector<std::string> folders = options.source_folders;
  if (!options.sysroot.empty()) folders.push_back(options.sysroot);
  return folders;
}

}  // namespace

struct Symbols::Impl {
  Impl(const Dump& dump, const SymbolOptions& options)
      : dump(dump), symbols(dump, options), sources(dump, source_folders(options)), unread(dump, symbols, sources) {}

  const Dump& dump;
  NativeSymbols symbols;
  SourceLines sources;
  UnreadStacks unread;
  std::unordered_map<uint64_t, Frame> headlines;  // by (native, python)
  std::vector<std::optional<Owner>> owners;       // by code
  const std::string package = torch_package(dump);

  std::vector<PythonStackFrame> python(uint32_t leaf) const;
  const std::string* module_path(uint64_t object) const;
  auto parent() const {
    return [this](uint32_t id) { return dump.python_frames[id].parent; };
  }
  std::string function_around(uint32_t id) const;  // the function that the frame's line is written in
  Frame python_frame(uint32_t id) const;
  Owner owner_of(uint32_t code);
  Frame headline(const Site& site);
};

const std::string* Symbols::Impl::module_path(uint64_t object) const {
  if (object == 0) return nullptr;
  auto found = dump.module_names.find(object);
  return found == dump.module_names.end() || found->second.path.empty() ? nullptr : &found->second.path;
}

// A frame belongs to the nn.Module whose call it is in: that of the nearest call wrapper at or outside it.
std::vector<PythonStackFrame> Symbols::Impl::python(uint32_t leaf) const {
  std::vector<PythonStackFrame> out;
  size_t named = 0;  // frames up to here have their module
  for (uint32_t id = leaf < dump.python_frames.size() ? leaf : 0; id != 0; id = dump.python_frames[id].parent) {
    const PythonFrame& frame = dump.python_frames[id];
    const Code& code = dump.codes[frame.code];
    out.push_back({{Frame::Language::python, code.function, code.file, frame.line, "", 0, false}, frame.entry});
    if (const std::string* path = module_path(frame.module_object)) {
      for (; named < out.size(); named++) out[named].frame.module = *path;
    }
  }
  return out;
}

Owner Symbols::Impl::owner_of(uint32_t code) {
  owners.resize(dump.codes.size());
  if (!owners[code]) owners[code] = python_owner(dump.codes[code].file, package);
  return *owners[code];
}

std::string Symbols::Impl::function_around(uint32_t id) const {
  const auto name = [&](uint32_t frame) -> std::string_view {
    return dump.codes[dump.python_frames[frame].code].function;
  };
  return std::string(rules::function_around(id, names_are_qualified(dump), parent(), name));
}

// One frame of a Python stack, without the others.
Frame Symbols::Impl::python_frame(uint32_t id) const {
  const PythonFrame& frame = dump.python_frames[id];
  const Code& code = dump.codes[frame.code];
  Frame out{Frame::Language::python, function_around(id), code.file, frame.line, "", 0, false};
  for (; id != 0 && out.module.empty(); id = dump.python_frames[id].parent) {
    if (const std::string* path = module_path(dump.python_frames[id].module_object)) out.module = *path;
  }
  return out;
}

Frame Symbols::Impl::headline(const Site& site) {
  const uint32_t innermost = site.python < dump.python_frames.size() ? site.python : 0;
  if (innermost != 0) {
    const auto owner = [&](uint32_t id) { return owner_of(dump.python_frames[id].code); };
    return python_frame(rules::python_headline(innermost, parent(), owner));
  }
  const std::vector<Frame> natives = symbols.frames(site.native);
  rules::NativeHeadline headline;
  for (const Frame& frame : natives) {
    if (headline.add(frame.object, frame.function, frame.file)) break;
  }
  return natives.empty() ? Frame{} : natives[headline.frame()];
}

Symbols::Symbols(const Dump& dump, const SymbolOptions& options) : impl_(std::make_unique<Impl>(dump, options)) {}
Symbols::~Symbols() = default;

std::vector<Frame> Symbols::native(uint32_t leaf) { return impl_->symbols.frames(leaf); }

std::vector<Frame> Symbols::python(uint32_t leaf) {
  std::vector<Frame> out;
  for (PythonStackFrame& frame : impl_->python(leaf)) out.push_back(std::move(frame.frame));
  return out;
}

std::vector<Frame> Symbols::merged(const Site& site, bool full) {
  return merge_stacks(impl_->symbols.frames(site.native), impl_->python(site.python), full);
}

std::vector<Frame> Symbols::shown(const Site& site, bool full) {
  std::vector<Frame> frames = merged(site, full);
  for (const Frame& frame : frames) unread().function(frame);
  return frames;
}

Frame Symbols::headline(const Site& site) {
  auto [found, fresh] = impl_->headlines.try_emplace(uint64_t(site.native) << 32 | site.python);
  if (fresh) found->second = impl_->headline(site);
  return found->second;
}

std::string Symbols::module_path(const Site& site) const {
  const Dump& dump = impl_->dump;
  for (uint32_t id = site.python < dump.python_frames.size() ? site.python : 0; id != 0;
       id = dump.python_frames[id].parent) {
    if (const std::string* path = impl_->module_path(dump.python_frames[id].module_object)) return *path;
  }
  return "";
}

std::string Symbols::source_line(const Frame& frame) { return impl_->sources.line(frame.file, frame.line); }

UnreadStacks& Symbols::unread() { return impl_->unread; }

void Symbols::prefetch(const std::vector<uint32_t>& native_leaves) {
  const std::vector<NativeFrame>& frames = impl_->dump.native_frames;
  std::vector<bool> seen(frames.size());
  for (uint32_t id : native_leaves) {
    for (; id < frames.size() && id != 0 && !seen[id]; id = frames[id].parent) {
      seen[id] = true;
      impl_->symbols.places(frames[id].address);
    }
  }
  impl_->symbols.save();
}

std::vector<std::string> Symbols::source_notes() const { return impl_->sources.notes(); }

SymbolCheck Symbols::check() { return impl_->symbols.check(); }

}  // namespace tensorscope::analyzer
