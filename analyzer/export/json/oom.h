// SPDX-License-Identifier: Apache-2.0
// What `oom --json` prints (docs/cli/oom.md).
#pragma once

#include <string>
#include <vector>

#include "oom/oom_analysis.h"

namespace tensorscope::exports {

// `views`: in order of time, the story is that of the last one. `held`: what holds the first of the story's places.
std::string oom_json(const std::vector<analyzer::View>& views, const analyzer::oom::OomAnalysis& analysis,
                     const std::vector<std::string>& held);

}  // namespace tensorscope::exports
