// SPDX-License-Identifier: Apache-2.0
// What `leaks --json` prints (docs/cli/leaks.md).
#pragma once

#include <string>
#include <vector>

#include "leaks/leaks.h"

namespace tensorscope::exports {

// `views`: of the dumps that were compared, in order of time.
std::string leaks_json(const std::vector<analyzer::View>& views, const analyzer::Leaks& leaks);

}  // namespace tensorscope::exports
