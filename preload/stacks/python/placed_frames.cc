// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/placed_frames.h"

namespace tensorscope::stacks {

size_t list_frames(const PythonLayout& layout, const char* innermost, FramePlace* places, size_t limit) {
  size_t count = 0;
  for (const char* frame = innermost; frame != nullptr; frame = read_field<const char*>(frame, layout.frame_previous)) {
    if (count == limit) return 0;
    places[count++] = reinterpret_cast<FramePlace>(frame);
  }
  return count;
}

size_t list_calls(const PythonLayout& layout, const ModuleCalls& calls, const FramePlace* places, size_t count,
                  FramePlace* words, size_t limit) {
  size_t used = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto* frame = reinterpret_cast<const char*>(places[i]);
    const uint64_t code = read_field<uint64_t>(frame, layout.frame_code) & ~kReferenceTags;
    if (!calls.hold(reinterpret_cast<const char*>(code))) continue;
    used += 2;
    if (used > limit) return used;
    const void* const plain = first_local(layout, frame, nullptr);
    const void* const object = first_local(layout, frame, calls.cell_type);
    words[used - 2] = reinterpret_cast<FramePlace>(frame + layout.frame_locals) | (object != plain);
    words[used - 1] = reinterpret_cast<FramePlace>(object);
  }
  return used;
}

}  // namespace tensorscope::stacks
