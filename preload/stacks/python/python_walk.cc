// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_walk.h"

namespace tensorscope::stacks {

namespace {

// Each of these calls take(frame) for every frame, innermost first, until it returns false. Whether a frame is an entry
// is clear once the next one has been seen.
template <typename Take>
void walk_objects(const PythonLayout& layout, const char* frame, Take take) {
  for (; frame != nullptr; frame = read_field<const char*>(frame, layout.frame_previous)) {
    const int64_t offset = int64_t{read_field<int32_t>(frame, layout.frame_instruction)} * layout.instruction_unit;
    if (!take(RawFrame{frame, read_field<const char*>(frame, layout.frame_code), uint64_t(offset) * 2 | 1})) return;
  }
}

template <typename Take>
void walk_flagged(const PythonLayout& layout, const char* frame, Take take) {
  while (frame != nullptr) {
    const char* const previous = read_field<const char*>(frame, layout.frame_previous);
    uint64_t position =
        read_field<uint64_t>(frame, layout.frame_instruction) | read_field<uint8_t>(frame, layout.frame_owner);
    if (previous == nullptr) position |= 1;
    if (!take(RawFrame{frame, read_field<const char*>(frame, layout.frame_code), position})) return;
    frame = previous;
  }
}

template <typename Take>
void walk_shims(const PythonLayout& layout, const char* frame, Take take) {
  const size_t previous = layout.frame_previous, code = layout.frame_code, instruction = layout.frame_instruction,
               owner = layout.frame_owner;
  const uint8_t first_shim = layout.first_shim_owner;
  const auto is_shim = [=](const char* any) { return read_field<uint8_t>(any, owner) >= first_shim; };
  while (frame != nullptr && is_shim(frame)) frame = read_field<const char*>(frame, previous);
  while (frame != nullptr) {
    const char* next = read_field<const char*>(frame, previous);
    uint64_t position = read_field<uint64_t>(frame, instruction);
    if (next == nullptr || is_shim(next)) {
      position |= 1;
      while (next != nullptr && is_shim(next)) next = read_field<const char*>(next, previous);
    }
    const char* const runs = reinterpret_cast<const char*>(read_field<uint64_t>(frame, code) & ~kReferenceTags);
    if (!take(RawFrame{frame, runs, position})) return;
    frame = next;
  }
}

template <typename Take>
void walk(const PythonLayout& layout, const char* thread_state, Take take) {
  const char* const frame = innermost_frame(layout, thread_state);
  switch (layout.style) {
    case FrameStyle::objects:
      return walk_objects(layout, frame, take);
    case FrameStyle::entry_flag:
      return walk_flagged(layout, frame, take);
    case FrameStyle::shims:
      return walk_shims(layout, frame, take);
  }
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
  size_t count = 0;
  more = false;
  walk(layout, thread_state, [&](const RawFrame& frame) {
    more = count == limit;
    if (!more) frames[count++] = frame;
    return !more;
  });
  return count;
}

HashedFrames hash_frames(const PythonLayout& layout, const char* thread_state, uint64_t seed, const ModuleCalls& calls,
                         size_t limit) {
  uint64_t hash = seed;
  size_t depth = 0;
  RawFrame entry{};
  walk(layout, thread_state, [&](const RawFrame& frame) {
    if (__builtin_expect(depth == limit, false)) {
      depth = 0;
      return false;
    }
    ++depth;
    uint64_t code = reinterpret_cast<uint64_t>(frame.code);
    if (calls.hold(frame.code)) {
      code += reinterpret_cast<uint64_t>(first_local(layout, frame.frame, calls.cell_type)) * 0xe7037ed1a0b428db;
    }
    hash = hash_with_frame(hash, code, frame.position);
    if (entry.frame == nullptr && frame.entry()) entry = frame;
    return true;
  });
  return {hash ^ hash >> 32, depth, entry.frame, entry.code};
}

const void* first_local(const PythonLayout& layout, const char* frame, const void* cell_type) {
  uint64_t local = read_field<uint64_t>(frame, layout.frame_locals) & ~kReferenceTags;
  if (local == 0) return nullptr;
  const char* object = reinterpret_cast<const char*>(local);
  if (cell_type != nullptr && read_field<const void*>(object, kTypeOffset) == cell_type) {
    return read_field<const void*>(object, kCellContentOffset);
  }
  return object;
}

}  // namespace tensorscope::stacks
