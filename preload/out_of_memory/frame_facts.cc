#include "out_of_memory/frame_facts.h"

#include <string_view>

#include "out_of_memory/torch_package.h"
#include "stacks/python/python_stack.h"

namespace tensorscope::out_of_memory {

FrameFacts::FrameFacts(const live::SnapshotView& view) : view_(view) {
  const size_t codes = stacks::python_code_count();
  const std::string_view package = torch_package();
  std::vector<uint8_t> own(codes), is_torch(codes);
  for (uint32_t i = 0; i < codes; ++i) {
    const char* file = stacks::python_code(i).file;
    const std::string_view path = file != nullptr ? file : "";
    is_torch[i] = code::python_owner(path, package) == code::Owner::torch;
    own[i] = code::torch_parts(code::in_torch(path, package));
  }
  facts_.resize(stacks::python_frame_count());
  for (StackId i = 1; i < facts_.size(); ++i) {  // callers come before what they call
    const stacks::PythonFrame frame = stacks::python_frame(i);
    if (frame.code >= codes || frame.parent >= i) continue;
    const uint8_t outer = facts_[frame.parent];
    const uint8_t call = frame.module_object != 0 ? code::kModuleCall : 0;
    facts_[i] = uint8_t(own[frame.code] | call | (outer & code::inherited_parts(is_torch[frame.code] != 0)));
  }
}

bool FrameFacts::has(SiteId site, int facts) const {
  if (site >= view_.sites.size) return false;
  const StackId leaf = view_.sites[site].python;
  return leaf < facts_.size() && (facts_[leaf] & facts) != 0;
}

}  // namespace tensorscope::out_of_memory
