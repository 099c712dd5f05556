// What `leaks --json` prints (docs/cli/leaks.md).
#pragma once

#include <string>
#include <vector>

#include "leaks/leaks.h"

namespace tensorscope::render {

// `views`: of the dumps that were compared, in order of time.
std::string leaks_json(const std::vector<model::View>& views, const model::Leaks& leaks);

}  // namespace tensorscope::render
