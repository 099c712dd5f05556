// SPDX-License-Identifier: Apache-2.0
// CPython 3.10: Include/cpython/{pystate,frameobject,code,unicodeobject}.h of 3.10.13. f_lasti counts code units of two
// bytes.
#include "stacks/python/python_layout.h"

namespace tensorscope::stacks {

const PythonLayout kCpython310 = {
    .style = FrameStyle::objects,
    .lines = LineFormat::ranges,
    .instruction_unit = 2,
    .first_shim_owner = 0,
    .qualified_names = false,
    .thread_frame = 24,
    .cframe_frame = -1,
    .frame_previous = 24,
    .frame_code = 32,
    .frame_instruction = 96,
    .frame_owner = 0,
    .frame_locals = 352,
    .code_filename = 104,
    .code_name = 112,
    .code_first_line = 40,
    .code_line_table = 120,
    .code_bytecode = 0,
    .text_ascii = 48,
    .text_other = 72,
    .instance_values = InstanceValues::none,
    .instance_dict = 0,
    .values_pointer = 0,
    .type_shared_keys = 0,
    .frame_object_frame = 0,
    .values_end = ValuesEnd::unknown,
    .frame_values_end = 0,
    .tagged_integers = false,
};

}  // namespace tensorscope::stacks
