// SPDX-License-Identifier: Apache-2.0
// A watch file as `tensorscope run` and `tensorscope watch --check` read it.
#pragma once

#include <string>

#include "tensorscope/rules/watch_spec.h"

namespace tensorscope::cli {

// What cannot be read is one of `settings.errors`.
void read_watch_file_at(const std::string& path, rules::WatchSettings& settings);

}  // namespace tensorscope::cli
