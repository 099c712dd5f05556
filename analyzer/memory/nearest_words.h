// For somebody who mistyped: which of some words were probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tensorscope::model {

// The words that are a few letters away from `word`, begin as it does or end with it, the nearest first, at most
// `most`; none where nothing is near. Of a name with its scope ("train.py: x") the name is compared.
std::vector<std::string> nearest_words(std::string_view word, const std::vector<std::string>& words, size_t most = 3);
// "a", "a or b", "a, b or c"; "" for none.
std::string either_of(const std::vector<std::string>& words);
// "; did you mean a or b?", "" where nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& words);
// "a, b, c and 4 more": at most `most`.
std::string listed(const std::vector<std::string>& words, size_t most = 12);

// "invalid value 'lien' for --by; did you mean line? choose from site, line, ...". Without a full stop.
std::string invalid_choice(const std::string& option, const std::string& word, const std::vector<std::string>& words);

}  // namespace tensorscope::model
