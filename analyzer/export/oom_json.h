// What `oom --json` prints (docs/cli/oom.md).
#pragma once

#include <string>
#include <vector>

#include "oom/story.h"

namespace tensorscope::render {

// `views`: in order of time, the story is that of the last one. `held`: what holds the first of the story's places.
std::string oom_json(const std::vector<model::View>& views, const model::oom::Story& story,
                     const std::vector<std::string>& held);

}  // namespace tensorscope::render
