// SPDX-License-Identifier: Apache-2.0
#include "oom/lines_to_change.h"

#include <algorithm>
#include <map>

#include "support/dotted_path.h"
#include "symbols/user_code.h"

namespace tensorscope::analyzer::oom {

bool LinesToChange::user(uint32_t frame) const {
  const Dump& dump = view_.dump;
  return python_owner(dump.codes[dump.python_frames[frame].code].file, package_) == Owner::user;
}

std::string LinesToChange::first_user_line(uint32_t frame) const {
  while (frame != 0 && !user(frame)) frame = view_.dump.python_frames[frame].parent;
  if (frame == 0) return "";
  const PythonFrame& python = view_.dump.python_frames[frame];
  const Code& code = view_.dump.codes[python.code];
  Frame shown;
  shown.language = Frame::Language::python;
  shown.function = code.function;
  shown.file = code.file;
  shown.line = python.line;
  return view_.places.describe(shown).where;
}

std::string LinesToChange::call_of(const std::string& modules) const {
  const Dump& dump = view_.dump;
  for (const Node& node : dump.nodes) {
    if (!node.alive || node.site == 0) continue;
    uint32_t call = facts_.call(node.site);
    while (call != 0 && with_wildcards(facts_.path(call)) != modules) call = facts_.outer_call(call);
    if (call == 0) continue;
    std::string line = first_user_line(dump.python_frames[call].parent);
    if (!line.empty()) return line;
  }
  return "";
}

std::string LinesToChange::forward() const {
  const Dump& dump = view_.dump;
  std::map<std::string, size_t> nodes;
  for (const Node& node : dump.nodes) {
    if (!node.alive || node.site == 0) continue;
    uint32_t call = facts_.call(node.site);
    if (call == 0) continue;
    while (facts_.outer_call(call) != 0) call = facts_.outer_call(call);
    const std::string line = first_user_line(dump.python_frames[call].parent);
    if (!line.empty()) ++nodes[line];
  }
  const auto most =
      std::max_element(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == nodes.end() ? "" : most->first;
}

std::string LinesToChange::own_line(uint32_t site) const {
  const Dump& dump = view_.dump;
  if (site == 0 || site >= dump.sites.size()) return "";
  return first_user_line(dump.sites[site].python);
}

std::string LinesToChange::input(Device device) const {
  const Item* largest = nullptr;
  for (const Item& item : view_.accounts.items()) {
    if (item.device != device || item.storage == kNone) continue;
    if (view_.holders.category(view_.holders.representative(item.storage)) != Category::input_batch) continue;
    if (largest == nullptr || item.bytes > largest->bytes) largest = &item;
  }
  return largest == nullptr ? "" : own_line(view_.dump.tensors[view_.holders.representative(largest->storage)].site);
}

}  // namespace tensorscope::analyzer::oom
