// SPDX-License-Identifier: Apache-2.0
// Text from dumps made fit for a terminal: no control characters, valid UTF-8, known width.
#pragma once

#include <string>
#include <string_view>

namespace tensorscope::text {

// analyzer::printable (no control characters, valid UTF-8), with tabs as spaces. Everything that comes from a dump, a
// symbol table or a source file goes through here before it is printed.
std::string clean(std::string_view text);

// Columns that `text` takes on a terminal. `text` must be clean.
int columns(std::string_view text);

enum class Cut { end, start, middle };
// `text`, or as much of it as fits `width` columns with "..." where it was cut. Never splits a character.
std::string cut(std::string_view text, int width, Cut where = Cut::end);

// Breaks a sentence at spaces so that no line is longer than `width` (0: no limit); later lines get `indent` spaces.
std::string wrap(std::string_view text, int width, int indent);

}  // namespace tensorscope::text
