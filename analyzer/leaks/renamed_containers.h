// SPDX-License-Identifier: Apache-2.0
// Containers that other dumps name otherwise: a list that was handed on, or two that refer to the same, of which now
// the one and now the other has the shorter name.
//
// Not thread-safe.
#pragma once

#include <vector>

#include "leaks/series.h"
#include "memory/grouping.h"

namespace tensorscope::analyzer {

// Gives each container of the last dump, in every dump, also the tensors of those containers of earlier dumps whose
// tensors it has now and they have no more. `all`: also series without tensors in the last dump.
void join_renamed(const std::vector<View>& views, std::vector<Series>& all);

}  // namespace tensorscope::analyzer
