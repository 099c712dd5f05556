#include "stacks/python/python_walk.h"

#include <cstring>

namespace tensorscope::stacks {

namespace {

constexpr size_t kCellContentOffset = 16;  // PyCellObject.ob_ref

template <typename T>
inline T load(const char* base, size_t offset) {
  T value;
  std::memcpy(&value, base + offset, sizeof value);
  return value;
}

size_t walk_objects(const PythonLayout& layout, const char* frame, RawFrame* frames, size_t limit) {
  size_t count = 0;
  for (; frame != nullptr && count < limit; frame = load<const char*>(frame, layout.frame_previous)) {
    int64_t offset = int64_t{load<int32_t>(frame, layout.frame_instruction)} * layout.instruction_unit;
    frames[count++] = {frame, load<const char*>(frame, layout.frame_code), uint64_t(offset) * 2 | 1};
  }
  return count;
}

size_t walk_flagged(const PythonLayout& layout, const char* frame, RawFrame* frames, size_t limit) {
  size_t count = 0;
  for (; frame != nullptr && count < limit; frame = load<const char*>(frame, layout.frame_previous)) {
    frames[count++] = {frame, load<const char*>(frame, layout.frame_code),
                       load<uint64_t>(frame, layout.frame_instruction) | load<uint8_t>(frame, layout.frame_owner)};
  }
  return count;
}

// One frame more than `limit` may be looked at, so that a shim behind the last one is seen.
size_t walk_shims(const PythonLayout& layout, const char* frame, RawFrame* frames, size_t limit) {
  const size_t previous = layout.frame_previous, code = layout.frame_code, instruction = layout.frame_instruction,
               owner = layout.frame_owner;
  const uint8_t first_shim = layout.first_shim_owner;
  size_t count = 0;
  while (frame != nullptr) {
    if (load<uint8_t>(frame, owner) >= first_shim) {
      if (count != 0) frames[count - 1].position |= 1;
    } else {
      if (count == limit) break;
      frames[count++] = {frame, reinterpret_cast<const char*>(load<uint64_t>(frame, code) & ~kReferenceTags),
                         load<uint64_t>(frame, instruction)};
    }
    frame = load<const char*>(frame, previous);
  }
  return count;
}

}  // namespace

int32_t RawFrame::offset(const PythonLayout& layout) const {
  constexpr int64_t kLargest = int64_t{1} << 30;
  int64_t offset = layout.instruction_unit != 0
                       ? int64_t(position) >> 1
                       : int64_t(position & ~uint64_t{1}) - (reinterpret_cast<int64_t>(code) + layout.code_bytecode);
  return int32_t(offset < 0 ? -1 : offset > kLargest ? kLargest : offset);
}

size_t walk_frames(const PythonLayout& layout, const char* thread_state, RawFrame* frames, size_t limit, bool& more) {
  const char* frame = load<const char*>(thread_state, layout.thread_frame);
  if (layout.cframe_frame >= 0 && frame != nullptr) frame = load<const char*>(frame, size_t(layout.cframe_frame));
  // One beyond the limit tells whether there are more.
  size_t count = 0;
  switch (layout.style) {
    case FrameStyle::objects:
      count = walk_objects(layout, frame, frames, limit + 1);
      break;
    case FrameStyle::entry_flag:
      count = walk_flagged(layout, frame, frames, limit + 1);
      break;
    case FrameStyle::shims:
      count = walk_shims(layout, frame, frames, limit + 1);
      break;
  }
  more = count > limit;
  if (more) return limit;
  if (count != 0) frames[count - 1].position |= 1;
  return count;
}

const void* first_local(const PythonLayout& layout, const char* frame, const void* cell_type) {
  uint64_t local = load<uint64_t>(frame, layout.frame_locals) & ~kReferenceTags;
  if (local == 0) return nullptr;
  const char* object = reinterpret_cast<const char*>(local);
  if (cell_type != nullptr && load<const void*>(object, kTypeOffset) == cell_type) {
    return load<const void*>(object, kCellContentOffset);
  }
  return object;
}

}  // namespace tensorscope::stacks
