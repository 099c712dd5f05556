// Whose code a frame is (tensorscope/rules/user_code.h), in the model's words.
#pragma once

#include "tensorscope/rules/user_code.h"

namespace tensorscope::model {

using code::is_allocator;
using code::is_eval_frame;
using code::is_interpreter;
using code::is_process_start;
using code::native_owner;
using code::Owner;
using code::python_owner;

}  // namespace tensorscope::model
