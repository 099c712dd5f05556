// SPDX-License-Identifier: Apache-2.0
// CPython 3.11: Include/cpython/{pystate,code,unicodeobject}.h and Include/internal/pycore_frame.h of 3.11.7.
#include "stacks/python/python_layout.h"

namespace tensorscope::stacks {

const PythonLayout kCpython311 = {
    .style = FrameStyle::entry_flag,
    .lines = LineFormat::locations,
    .instruction_unit = 0,
    .first_shim_owner = 0,
    .qualified_names = true,
    .thread_frame = 56,
    .cframe_frame = 8,
    .frame_previous = 48,
    .frame_code = 32,
    .frame_instruction = 56,
    .frame_owner = 68,
    .frame_locals = 72,
    .code_filename = 112,
    .code_name = 128,
    .code_first_line = 72,
    .code_line_table = 136,
    .code_bytecode = 184,
    .text_ascii = 48,
    .text_other = 72,
    .instance_values = InstanceValues::pointed_to,
    .instance_dict = -24,
    .values_pointer = -32,
    .type_shared_keys = 872,
    .frame_object_frame = 24,
    .values_end = ValuesEnd::count,
    .frame_values_end = 64,
    .tagged_integers = false,
};

}  // namespace tensorscope::stacks
