// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/naming/beginnings.h"

namespace tensorscope::python::heap_inspector {

uint32_t Beginnings::row_of_call(format::ReferenceRoot root, uint32_t call) {
  if (root != format::ReferenceRoot::local || call == 0 || call > calls_.size()) return 0;
  const auto [found, fresh] = call_rows_.try_emplace(call);
  if (fresh) {
    const RunningCall& running = calls_[call - 1];
    out_.calls.emplace_back(running.thread, out_.strings.intern(running.thread_name), running.depth);
    found->second = uint32_t(out_.calls.size());
  }
  return found->second;
}

uint32_t Beginnings::row_of_object(uint32_t object) {
  if (object == kNoObject) return 0;
  const auto [found, fresh] = object_rows_.try_emplace(object);
  if (fresh && out_.beginnings.push(uint64_t(reinterpret_cast<uintptr_t>(graph_.object(object))))) {
    found->second = uint32_t(out_.beginnings.size());
  }
  return found->second;
}

}  // namespace tensorscope::python::heap_inspector
