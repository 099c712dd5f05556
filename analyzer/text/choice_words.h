// SPDX-License-Identifier: Apache-2.0
// Sentences about a word that is none of those it could be, and lists of words within a sentence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/error.h"

namespace tensorscope::text {

using analyzer::BadChoice;

// "; did you mean a, b or c?" of words that were probably meant; "" for none.
std::string did_you_mean(const std::vector<std::string>& near);
// The same of those of `words` that are near `word` (memory/nearest_words.h).
std::string did_you_mean(std::string_view word, const std::vector<std::string>& words);
// "a, b, c and 4 more": at most `most`.
std::string listed(const std::vector<std::string>& words, size_t most = 12);

// "invalid value 'lien' for --by; did you mean line? choose from site, line, ...". Without a full stop.
std::string invalid_choice(std::string_view option, std::string_view word, const std::vector<std::string>& words);

}  // namespace tensorscope::text
