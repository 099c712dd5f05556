#include "python/agent/object_paths.h"

#include <utility>

namespace tensorscope::python::agent {

namespace {
constexpr size_t kPathsPerClockReading = 4096;
}  // namespace

void ObjectPaths::add(Root root) {
  const uint32_t object = root.object;
  if (object == kNoObject || reached(object)) return;
  parent_[object] = kRootBit | uint32_t(roots_.size());
  roots_.push_back(std::move(root));
  queue_.push_back(object);
}

bool ObjectPaths::spread() {
  size_t next = 0;
  bool in_time = true;
  for (; next < queue_.size(); ++next) {
    if (next % kPathsPerClockReading == 0 && deadline_.passed()) {
      in_time = false;
      break;
    }
    const uint32_t object = queue_[next];
    for (const uint32_t child : graph_.references(object)) {
      if (parent_[child] != kNone) continue;
      parent_[child] = object;
      depth_[child] = depth_[object] + 1;
      queue_.push_back(child);
    }
  }
  queue_.clear();
  return in_time;
}

}  // namespace tensorscope::python::agent
