// SPDX-License-Identifier: Apache-2.0
// For somebody who mistyped: which of some words were probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tensorscope::analyzer {

// The words that are a few letters away from `word`, begin as it does or end with it, the nearest first, at most
// `most`; none where nothing is near. Of a name with its scope ("train.py: x") the name is compared.
std::vector<std::string> nearest_words(std::string_view word, const std::vector<std::string>& words, size_t most = 3);
}  // namespace tensorscope::analyzer
