// SPDX-License-Identifier: Apache-2.0
// Names with dots: "model.layers.3.attn".
//
// Context: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tensorscope::analyzer {

// Digits alone, and at least one.
bool is_number(std::string_view text);

// What stands between the dots; one empty part of an empty path.
std::vector<std::string_view> path_parts(std::string_view path);

// Is `inner` the same as `outer`, or in it?
bool within(std::string_view inner, std::string_view outer);

// "model.layers.3.attn" is "model.layers.*.attn".
std::string with_wildcards(std::string_view path);

}  // namespace tensorscope::analyzer
