// SPDX-License-Identifier: Apache-2.0
// Names of one dump for another of the same run: a tensor has one serial in all of them.
//
// Not thread-safe. Linear in both dumps.
#pragma once

#include <cstddef>

#include "dump/dump.h"

namespace tensorscope::analyzer {

// Takes over what Python held in `earlier` of the tensors that are in `dump` and that it has no names for; the
// number of tensors. The references of `dump` are not complete afterwards, and their detail says whose they are.
size_t take_names(Dump& dump, const Dump& earlier);

}  // namespace tensorscope::analyzer
