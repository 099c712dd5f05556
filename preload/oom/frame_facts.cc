// SPDX-License-Identifier: Apache-2.0
#include "oom/frame_facts.h"

#include <string_view>

#include "stacks/python/python_stack.h"
#include "torch/torch_package.h"

namespace tensorscope::oom {

FrameFacts::FrameFacts(const live::SnapshotView& view) : view_(view) {
  const size_t codes = stacks::python_code_count();
  const std::string_view package = torch::torch_package();
  std::vector<uint8_t> own(codes);
  is_torch_.resize(codes);
  for (uint32_t i = 0; i < codes; ++i) {
    const char* file = stacks::python_code(i).file;
    const std::string_view path = file != nullptr ? file : "";
    is_torch_[i] = code::python_owner(path, package) == code::Owner::torch;
    own[i] = code::torch_parts(code::in_torch(path, package));
  }
  facts_.resize(stacks::python_frame_count());
  for (StackId i = 1; i < facts_.size(); ++i) {  // callers come before what they call
    const stacks::PythonFrame frame = stacks::python_frame(i);
    if (frame.code >= codes || frame.parent >= i) continue;
    any_module_call_ |= frame.module_object != 0;
    facts_[i] =
        code::frame_parts(own[frame.code], frame.module_object != 0, is_torch_[frame.code], facts_[frame.parent]);
  }
}

StackId FrameFacts::leaf_of(SiteId site) const {
  const StackId leaf = site < view_.sites.size ? view_.sites[site].python : 0;
  return leaf < facts_.size() ? leaf : 0;
}

bool FrameFacts::runs_in_torch(SiteId site, std::string_view function) const {
  const StackId leaf = leaf_of(site);
  if (leaf == 0) return false;
  const uint32_t code = stacks::python_frame(leaf).code;
  if (code >= is_torch_.size() || !is_torch_[code]) return false;
  const char* name = stacks::python_code(code).name;
  return name != nullptr && function == name;
}

bool FrameFacts::is_native_only(SiteId site) const {
  return site < view_.sites.size && view_.sites[site].python == 0 && view_.sites[site].native != 0;
}

}  // namespace tensorscope::oom
