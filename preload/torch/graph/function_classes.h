// SPDX-License-Identifier: Apache-2.0
// The Python classes of custom autograd Functions, read from the memory of their ctx objects: C++ has one class,
// PyNode, for all of them. No Python function is called and the GIL is not needed: an object that is gone is one that
// was not read.
//
// Context: collector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tensorscope::torch {

// By object, "" where it could not be read: "SquareBackward". False: the system does not allow reading.
bool read_function_classes(const std::vector<uint64_t>& objects, std::vector<std::string>& names);

}  // namespace tensorscope::torch
