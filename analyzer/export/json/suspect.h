// SPDX-License-Identifier: Apache-2.0
// A suspect of one dump as a row of JSON, in the answers of `leaks` and `oom` (docs/cli/leaks.md). For source files
// only.
#pragma once

#include "export/json/scalars.h"
#include "leaks/suspects.h"
#include "memory/grouping.h"

namespace tensorscope::exports {

// Ids of tensors, as a person types them.
Json ids_json(const analyzer::Dump& dump, const std::vector<uint32_t>& tensors);
Json suspect_json(const analyzer::View& view, const analyzer::Suspect& suspect);

}  // namespace tensorscope::exports
