// SPDX-License-Identifier: Apache-2.0
// Text from a dump is untrusted: file names, thread names, command lines. Before any of it reaches a terminal
// or a person it goes through here.
#pragma once

#include <string>
#include <string_view>

namespace tensorscope::analyzer {

// The text as valid UTF-8 without anything that a terminal would act upon: control characters (C0, DEL, C1, so no
// escape sequences), bidirectional overrides and bytes that are no UTF-8 become visible escapes: "\x1b", "\u202e".
std::string printable(std::string_view text);

}  // namespace tensorscope::analyzer
