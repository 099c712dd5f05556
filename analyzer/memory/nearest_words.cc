// SPDX-License-Identifier: Apache-2.0
#include "memory/nearest_words.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include "memory/selection.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMaxLetters = 256;  // a name beyond that is compared by its beginning

std::string folded(std::string_view word) {
  std::string text(word.substr(0, kMaxLetters));
  text.erase(0, std::min(text.find_first_not_of('-'), text.size()));
  for (char& c : text) c = c == '_' ? '-' : char(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Letters to insert, remove or replace, or neighbours to swap.
size_t letters_apart(const std::string& a, const std::string& b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::vector<std::string> nearest_words(std::string_view word, const std::vector<std::string>& words, size_t most) {
  const std::string wanted = folded(word);
  std::vector<std::pair<size_t, std::string>> found;
  for (const std::string& candidate : words) {
    const std::string text = folded(without_scope(candidate));
    // Somebody may write "histroy" for "history[3]".
    const size_t letters =
        std::min(letters_apart(wanted, text), 1 + letters_apart(wanted, text.substr(0, wanted.size())));
    const size_t shorter = std::min(wanted.size(), text.size());
    const auto same =
        size_t(std::mismatch(wanted.begin(), wanted.end(), text.begin(), text.end()).first - wanted.begin());
    const bool part = shorter >= 3 && (same * 3 >= shorter * 2 || text.ends_with(wanted));
    if (part || letters <= std::max<size_t>(1, shorter / 3)) {
      found.emplace_back(letters, candidate);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<std::string> result;
  for (size_t i = 0; i < found.size() && i < most; ++i) result.push_back(found[i].second);
  return result;
}

}  // namespace tensorscope::analyzer
