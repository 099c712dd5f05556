// SPDX-License-Identifier: Apache-2.0
// Which torch is loaded, told without Python.
#pragma once

#include "torch/metadata/shared_object_map.h"
#include "torch/metadata/torch_functions.h"

namespace tensorscope::torch {

// "2.13.0+cpu" from the version.py or build-version file beside libtorch_cpu, else "2.13.0" from the C shim, else the
// version in the library's own name ("2.6"); "" if nothing has one. Context: collector.
std::string torch_version(const SharedObjectMap& objects, const TorchFunctions& torch);

// The version in the text of torch/version.py (its line __version__ = '2.13.0+cpu'), "" if there is none.
std::string version_in_python_file(const char* text);

}  // namespace tensorscope::torch
