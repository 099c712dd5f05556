// SPDX-License-Identifier: Apache-2.0
// A tensor's elements as torch prints them: print(tensor) with its usual options.
#pragma once

#include <string>

#include "values/values_file.h"

namespace tensorscope::text {

// "tensor([[1., 2.],\n        [3., 4.]])", the middle left out beyond a thousand elements. `device` appears unless it
// is the CPU. Elements of an unknown dtype: how many bytes there are.
std::string tensor_text(const values::Elements& elements, const analyzer::Device& device);

}  // namespace tensorscope::text
