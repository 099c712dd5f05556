// SPDX-License-Identifier: Apache-2.0
#include "symbols/unread.h"

#include "symbols/user_code.h"

namespace tensorscope::analyzer {

void UnreadFiles::add(const UnreadFiles& others) {
  libraries.insert(others.libraries.begin(), others.libraries.end());
  sources.insert(others.sources.begin(), others.sources.end());
  switched_off = switched_off || others.switched_off;
  not_recorded = not_recorded || others.not_recorded;
}

void UnreadStacks::look_for_lines() {
  const std::string package = torch_package(dump_);
  lacks_line_.resize(dump_.python_frames.size());
  for (size_t i = 1; i < dump_.python_frames.size(); ++i) {
    const PythonFrame& frame = dump_.python_frames[i];
    const std::string& file = dump_.codes[frame.code].file;
    const Owner owner = python_owner(file, package);
    // Code that was never in a file has no lines anywhere.
    if (frame.line <= 0 || file.starts_with('<') || owner == Owner::torch || owner == Owner::system) continue;
    lacks_line_[i] = sources_.line(file, frame.line).empty();
  }
}

void UnreadStacks::note(const SharedObject& object) {
  files_.libraries.insert(object.path);
  files_.switched_off = files_.switched_off || !symbols_.names_functions();
}

bool UnreadStacks::function(const Frame& frame) {
  const SharedObject* object = symbols_.unread_object(frame);
  if (object != nullptr) note(*object);
  return object != nullptr;
}

bool UnreadStacks::operation(uint32_t site) {
  const uint32_t leaf = site < dump_.sites.size() ? dump_.sites[site].native : 0;
  if (leaf == 0) {
    // Code alone: what was made before the profiler was there has no stack at all.
    const bool not_recorded = site != 0 && site < dump_.sites.size() && dump_.sites[site].python != 0;
    files_.not_recorded = files_.not_recorded || not_recorded;
    return not_recorded;
  }
  const auto [found, fresh] = operations_.try_emplace(leaf, false);
  if (fresh) found->second = look_for_operation(leaf);
  return found->second;
}

// Operations have names in this library; a torch of one library has it as "libtorch.so". Those that called the
// interpreter are of other calls: without its functions' names they look alike.
bool UnreadStacks::look_for_operation(uint32_t leaf) {
  const SharedObject* interpreter = nullptr;
  bool unread = false;
  for (const Frame& frame : symbols_.frames(leaf)) {
    if (is_eval_frame(frame.function)) break;
    const SharedObject* object = symbols_.unread_object(frame);
    if (object == nullptr) {
      if (interpreter == nullptr || dispatched_overload(frame.function).empty()) continue;
      object = interpreter;
    } else if (is_interpreter(frame.object)) {
      interpreter = object;
      continue;
    } else if (!frame.object.starts_with("libtorch_cpu.") && !frame.object.starts_with("libtorch.")) {
      continue;
    }
    unread = true;
    note(*object);
  }
  return unread;
}

bool UnreadStacks::line(uint32_t site) {
  if (lacks_line_.empty()) look_for_lines();
  bool lacks = false;
  for (uint32_t i = site < dump_.sites.size() ? dump_.sites[site].python : 0; i != 0;
       i = dump_.python_frames[i].parent) {
    if (!lacks_line_[i]) continue;
    lacks = true;
    files_.sources.insert(dump_.codes[dump_.python_frames[i].code].file);
  }
  return lacks;
}

}  // namespace tensorscope::analyzer
