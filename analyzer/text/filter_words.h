// SPDX-License-Identifier: Apache-2.0
// Sentences about a filter that can match nothing, or matches nothing in these dumps.
#pragma once

#include <string>

#include "memory/filter_values.h"

namespace tensorscope::text {

// "invalid value 'float3' for --dtype: there is no such dtype; did you mean float32? the dump has float32, int64."
std::string filter_mistake_phrase(const analyzer::FilterMistake& mistake);
// "nothing matches --name 'loss'; the dump has losses[3]". One line without a full stop.
std::string no_match_phrase(const analyzer::NoMatch& answer);

}  // namespace tensorscope::text
