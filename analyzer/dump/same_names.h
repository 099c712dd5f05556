// SPDX-License-Identifier: Apache-2.0
// Holders of one printed name that are different ones: which of them each reference begins at, for a person.
#pragma once

#include <span>

#include "dump/references.h"

namespace tensorscope::analyzer {

// Sets Reference::which and NodeReference::which wherever one of these dumps has two holders of the name at once: names
// are the same in all dumps then. `dumps`: of one run.
void distinguish_same_names(std::span<References* const> dumps);

}  // namespace tensorscope::analyzer
