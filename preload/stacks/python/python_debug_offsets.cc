// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_debug_offsets.h"

#include <cstring>

namespace tensorscope::stacks {

namespace {

// cookie, version, free_threaded; then runtime_state (3 words), interpreter_state, thread_state, interpreter_frame,
// code_object, pyobject, type_object, ...
constexpr size_t kHeaderWords = 3;
constexpr size_t kRuntimeStateWords = 3;
constexpr uint64_t kLargestOffset = 4096;

}  // namespace

bool read_debug_offsets(const DebugOffsetsShape& shape, const void* runtime, uint64_t version, PythonLayout& layout) {
  if (runtime == nullptr || std::memcmp(runtime, "xdebugpy", 8) != 0) return false;
  const uint64_t* words = static_cast<const uint64_t*>(runtime);
  if (words[1] != version || words[2] != 0) return false;
  const uint64_t* thread_state = words + kHeaderWords + kRuntimeStateWords + shape.interpreter_state_words;
  const uint64_t* frame = thread_state + shape.thread_state_words + shape.words_before_frame;
  const uint64_t* code = frame + shape.interpreter_frame_words;
  // A count of slots stands in the eight bytes before the first local (Include/internal/pycore_frame.h).
  const uint64_t values_end = shape.values_end == ValuesEnd::pointer ? frame[6] : frame[4] - sizeof(uint64_t);
  const uint64_t used[] = {thread_state[4], frame[1], frame[2], frame[3], frame[4], frame[5],
                           code[1],         code[3],  code[4],  code[5],  code[9],  values_end};
  for (uint64_t offset : used) {
    if (offset >= kLargestOffset) return false;
  }
  layout = {
      .style = FrameStyle::shims,
      .lines = LineFormat::locations,
      .instruction_unit = 0,
      .first_shim_owner = 3,  // 3.13 FRAME_OWNED_BY_CSTACK; 3.14 on FRAME_OWNED_BY_INTERPRETER
      .qualified_names = true,
      .thread_frame = uint16_t(thread_state[4]),
      .cframe_frame = -1,
      .frame_previous = uint16_t(frame[1]),
      .frame_code = uint16_t(frame[2]),
      .frame_instruction = uint16_t(frame[3]),
      .frame_owner = uint16_t(frame[5]),
      .frame_locals = uint16_t(frame[4]),
      .code_filename = uint16_t(code[1]),
      .code_name = uint16_t(code[3]),
      .code_first_line = uint16_t(code[5]),
      .code_line_table = uint16_t(code[4]),
      .code_bytecode = uint16_t(code[9]),
      .text_ascii = 40,
      .text_other = 56,
      .instance_values = InstanceValues::inlined,
      .instance_dict = -24,  // MANAGED_DICT_OFFSET (Include/internal/pycore_object.h)
      .values_pointer = 0,
      .type_shared_keys = shape.type_shared_keys,
      .frame_object_frame = 24,  // PyFrameObject: header, f_back, f_frame
      .values_end = shape.values_end,
      .frame_values_end = uint16_t(values_end),
      .tagged_integers = shape.values_end == ValuesEnd::pointer,  // both came with 3.14
  };
  return true;
}

}  // namespace tensorscope::stacks
