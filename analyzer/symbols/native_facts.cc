// SPDX-License-Identifier: Apache-2.0
#include "symbols/native_facts.h"

#include "symbols/unread.h"
#include "symbols/user_code.h"

namespace tensorscope::analyzer {

namespace {

constexpr int kMaxNativeFrames = 4096;

}  // namespace

uint8_t NativeFacts::parts(uint32_t site) const {
  const uint32_t leaf = dump_.sites[site].native;
  if (symbols_ == nullptr || leaf == 0 || dump_.sites[site].python != 0) return 0;
  auto [found, fresh] = known_.try_emplace(leaf, uint8_t{0});
  if (!fresh) return found->second;
  if (dump_.process.python_version.empty()) symbols_->unread().operation(site);  // else Python's frames tell it
  for (const Frame& frame : symbols_->native(leaf)) {
    const Owner owner = native_owner(frame.object, frame.function, frame.file);
    if (owner != Owner::torch && owner != Owner::system) break;
    found->second |= code::native_parts(frame.function);
  }
  return found->second;
}

// An operation of autograd's attaches the node in one of torch::autograd::VariableType's functions, and computes below
// the same one. Its own frames differ, that of its caller is the same.
bool NativeFacts::made_by_operation(uint32_t site, uint32_t node_site) const {
  if (symbols_ == nullptr) return false;
  uint32_t caller = 0;
  int steps = 0;
  for (uint32_t at = dump_.sites[node_site].native; at != 0 && caller == 0 && steps < kMaxNativeFrames; steps++) {
    const uint32_t parent = dump_.native_frames[at].parent;
    const std::vector<Frame> frames = symbols_->native(at);
    if (!frames.empty() && frames.front().function.find("VariableType::") != std::string::npos) caller = parent;
    at = parent;
  }
  if (caller == 0) return false;
  steps = 0;
  for (uint32_t at = dump_.sites[site].native; at >= caller && at != 0 && steps < kMaxNativeFrames; steps++) {
    if (at == caller) return true;
    at = dump_.native_frames[at].parent;
  }
  return false;
}

}  // namespace tensorscope::analyzer
