// SPDX-License-Identifier: Apache-2.0
// CPython 3.12: Include/cpython/{pystate,code,unicodeobject}.h and Include/internal/pycore_frame.h of 3.12.1.
#include "stacks/python/python_layout.h"

namespace tensorscope::stacks {

const PythonLayout kCpython312 = {
    .style = FrameStyle::shims,
    .lines = LineFormat::locations,
    .instruction_unit = 0,
    .first_shim_owner = 3,  // FRAME_OWNED_BY_CSTACK
    .qualified_names = true,
    .thread_frame = 56,
    .cframe_frame = 0,
    .frame_previous = 8,
    .frame_code = 0,
    .frame_instruction = 56,
    .frame_owner = 70,
    .frame_locals = 72,
    .code_filename = 112,
    .code_name = 128,
    .code_first_line = 68,
    .code_line_table = 136,
    .code_bytecode = 192,
    .text_ascii = 40,
    .text_other = 56,
    .instance_values = InstanceValues::tagged,
    .instance_dict = -24,
    .values_pointer = 0,
    .type_shared_keys = 880,
    .frame_object_frame = 24,
    .values_end = ValuesEnd::count,
    .frame_values_end = 64,
    .tagged_integers = false,
};

}  // namespace tensorscope::stacks
