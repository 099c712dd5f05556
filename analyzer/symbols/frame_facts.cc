// SPDX-License-Identifier: Apache-2.0
#include "symbols/frame_facts.h"

#include "symbols/user_code.h"
#include "tensorscope/rules/engine_call.h"

namespace tensorscope::analyzer {

FrameFacts::FrameFacts(const Dump& dump) : dump_(dump) {
  const size_t frames = dump.python_frames.size();
  call_of_.resize(frames);
  user_frame_.resize(frames);
  facts_.resize(frames);
  in_backward_.resize(frames);
  is_torch_.resize(dump.codes.size());
  is_nn_module_.resize(dump.codes.size());
  const std::string package = torch_package(dump);
  std::vector<uint8_t> own(dump.codes.size()), is_user(dump.codes.size());
  for (size_t i = 0; i < dump.codes.size(); i++) {
    const std::string& file = dump.codes[i].file;
    const Owner owner = python_owner(file, package);
    is_torch_[i] = owner == Owner::torch;
    is_user[i] = owner == Owner::user;
    own[i] = torch_parts(in_torch(file, package));
    is_nn_module_[i] = in_torch(file, package).starts_with("nn/modules/");
  }
  // Callers come before what they call.
  for (uint32_t i = 1; i < frames; i++) {
    const PythonFrame& frame = dump.python_frames[i];
    const bool named = frame.module_object != 0 && dump.module_names.count(frame.module_object) != 0;
    call_of_[i] = named ? i : call_of_[frame.parent];
    const Code& code = dump.codes[frame.code];
    in_backward_[i] = in_backward_[frame.parent] != 0 || code::runs_engine(code.file, code.function);
    user_frame_[i] = is_user[frame.code] ? i : user_frame_[frame.parent];
    facts_[i] =
        code::frame_parts(own[frame.code], frame.module_object != 0, is_torch_[frame.code], facts_[frame.parent]);
  }
}

const std::string& FrameFacts::path(uint32_t call) const {
  static const std::string none;
  if (call == 0) return none;
  return dump_.module_names.find(dump_.python_frames[call].module_object)->second.path;
}

// The outermost call that was left by what was made at `site` and is now a local variable of `function`: the outermost
// one inside the innermost frame of that function. 0: none, or the function is not on the stack.
uint32_t FrameFacts::calls_left(uint32_t site, const std::string& function) const {
  constexpr int kMaxFrames = 4096;
  uint32_t left = 0;
  int steps = 0;
  for (uint32_t id = dump_.sites[site].python; id != 0 && steps < kMaxFrames; id = dump_.python_frames[id].parent) {
    if (dump_.codes[dump_.python_frames[id].code].function == function) return left;
    if (call_of_[id] == id) left = id;
    steps++;
  }
  return 0;
}

bool FrameFacts::torch_function(uint32_t site, std::string_view function) const {
  const uint32_t id = dump_.sites[site].python;
  if (id == 0) return false;
  const uint32_t code = dump_.python_frames[id].code;
  return is_torch_[code] && dump_.codes[code].function == function;
}

// torch/nn/modules/module.py: Module._apply() calls what .to(), .half() and others give it.
bool FrameFacts::made_for_module(uint32_t site) const {
  uint32_t id = dump_.sites[site].python;
  for (int frame = 0; frame < 2 && id != 0; ++frame) {
    const Code& code = dump_.codes[dump_.python_frames[id].code];
    if (is_nn_module_[dump_.python_frames[id].code] == 0) return false;
    const std::string_view name = std::string_view(code.function).substr(code.function.rfind('.') + 1);
    if (name == "_apply" || (frame == 0 && name == "__init__")) return true;
    id = dump_.python_frames[id].parent;
  }
  return false;
}

std::string FrameFacts::place(uint32_t site) const {
  const uint32_t id = user_frame_[dump_.sites[site].python];
  if (id == 0) return "";
  const PythonFrame& frame = dump_.python_frames[id];
  const Code& code = dump_.codes[frame.code];
  std::string text = code.file.substr(code.file.rfind('/') + 1);
  if (frame.line > 0) text += ":" + std::to_string(frame.line);
  const std::string_view function = enclosing_function(code.function, names_are_qualified(dump_));
  return function.empty() || function == "<module>" ? text : text.append(" ").append(function);
}

}  // namespace tensorscope::analyzer
