// SPDX-License-Identifier: Apache-2.0
// The names of an earlier dump of the same run for one that has none, or fewer: memory ran out, and with it the room to
// look at Python. A tensor has one serial in all dumps of a run, so what held it a moment ago names the same
// tensor.
//
// Not thread-safe. Linear in both dumps.
#pragma once

#include <optional>
#include <string>

#include "dump/dump.h"

namespace tensorscope::analyzer::oom {

// Whether names of another dump would say more: Python was there, and the larger part of the tensors' bytes or of its
// objects was not looked at.
bool lacks_names(const Dump& dump);

// Another dump of the same run, written before this one and lying beside it, that knows more names: the newest. Files
// that cannot be read are passed over.
std::optional<Dump> earlier_with_names(const Dump& dump);

}  // namespace tensorscope::analyzer::oom
