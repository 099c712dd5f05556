// SPDX-License-Identifier: Apache-2.0
#include "oom/running_code.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "autograd/graph_freed.h"
#include "symbols/user_code.h"

namespace tensorscope::analyzer::oom {

namespace {

// Innermost first: the frames of a Python stack.
std::vector<const PythonFrame*> frames_of(const Dump& dump, uint32_t site) {
  std::vector<const PythonFrame*> frames;
  if (site >= dump.sites.size()) return frames;
  for (uint32_t frame = dump.sites[site].python; frame != 0 && frame < dump.python_frames.size();) {
    frames.push_back(&dump.python_frames[frame]);
    frame = dump.python_frames[frame].parent;
  }
  return frames;
}

}  // namespace

RunningCode::RunningCode(const View& view, uint32_t site) : dump_(view.dump) {
  const std::string package = torch_package(dump_);
  std::vector<bool> user(dump_.codes.size());
  for (size_t i = 0; i < dump_.codes.size(); ++i) {
    user[i] = python_owner(dump_.codes[i].file, package) == Owner::user;
  }
  std::vector<bool> runs(dump_.codes.size());
  const std::vector<const PythonFrame*> frames = frames_of(dump_, site);
  bool in_module = false;
  std::vector<uint32_t> outside;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const Code& code = dump_.codes[(*frame)->code];
    in_module = in_module || (*frame)->module_object != 0 || code.file.ends_with("torch/nn/modules/module.py");
    in_optimizer_ = in_optimizer_ || code.file.find("torch/optim/") != std::string::npos;
    if (in_optimizer_ && code.function.starts_with("_multi_tensor")) step_function_ = code.function;
    if (user[(*frame)->code] && !in_module) outside.push_back((*frame)->code);
  }
  // A helper that allocates memory is no loop: the innermost function that made nodes.
  std::vector<bool> makes_nodes(dump_.codes.size());
  for (const Node& node : dump_.nodes) {
    for (const PythonFrame* frame : frames_of(dump_, node.alive ? node.site : 0)) makes_nodes[frame->code] = true;
  }
  const auto loop = std::find_if(outside.rbegin(), outside.rend(), [&](uint32_t code) { return makes_nodes[code]; });
  if (!outside.empty()) loop_ = loop == outside.rend() ? outside.back() : *loop;
  for (const PythonFrame* frame : frames) {
    if (user[frame->code]) runs[frame->code] = true;
    if (frame->code == loop_) break;  // what is around it may call backward elsewhere
  }
  look_at_backward(user, runs);
}

void RunningCode::look_at_backward(const std::vector<bool>& user, const std::vector<bool>& runs) {
  std::vector<bool> backward(dump_.codes.size()), below(dump_.sites.size());
  for (size_t i = 0; i < dump_.codes.size(); ++i) backward[i] = calls_engine(dump_.codes[i]);
  std::set<std::pair<uint32_t, int32_t>> lines;  // that called it
  uint32_t some = 0;
  for (uint32_t i = 1; i < dump_.sites.size(); ++i) {
    bool inside = false;
    for (const PythonFrame* frame : frames_of(dump_, i)) {
      if (inside && user[frame->code]) {
        calls_backward_ = calls_backward_ || runs[frame->code];
        below[i] = backward_seen_ = true;
        lines.emplace(frame->code, frame->line);
        some = i;
        break;
      }
      inside = inside || backward[frame->code];
    }
  }
  // What backward begins with is alive while it runs.
  const auto alive = std::find_if(dump_.allocations.rbegin(), dump_.allocations.rend(),
                                  [&](const Allocation& block) { return below[block.site]; });
  if (alive != dump_.allocations.rend()) {
    backward_site_ = alive->site;
  } else if (lines.size() == 1) {
    backward_site_ = some;
  }
}

std::string RunningCode::loop_name() const { return loop_ == kNone ? "" : dump_.codes[loop_].function; }

bool RunningCode::in_loop(uint32_t site) const {
  if (loop_ == kNone) return false;
  const std::vector<const PythonFrame*> frames = frames_of(dump_, site);
  return std::any_of(frames.begin(), frames.end(), [&](const PythonFrame* frame) { return frame->code == loop_; });
}

}  // namespace tensorscope::analyzer::oom
