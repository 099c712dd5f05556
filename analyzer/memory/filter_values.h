// What a person wrote in a filter, compared with what the dumps have: a word that can match nothing is a mistake, and
// where a filter matches nothing the answer says which one, and what there is instead.
#pragma once

#include <string>
#include <vector>

#include "memory/grouping.h"

namespace tensorscope::model {

// Throws BadFilter for a dtype, device, shape, category or file that is none, with what there is. `views`: of all dumps
// that are asked; a value that one of them has is good for all. Their selections are not looked at.
void check_values(const Filter& filter, const std::vector<View>& views);

// For a selection that is empty: "nothing matches --name 'loss'; ...". One line without a full stop.
std::string why_nothing(const Filter& filter, const std::vector<View>& views);

}  // namespace tensorscope::model
