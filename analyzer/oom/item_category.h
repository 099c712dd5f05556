// SPDX-License-Identifier: Apache-2.0
// Which memory of a dump a change of the program reaches: by its category, and by what made it.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "oom/lines_to_change.h"
#include "oom/remedy.h"

namespace tensorscope::analyzer::oom {

inline bool is_one_of(Category category, std::initializer_list<Category> wanted) {
  return std::find(wanted.begin(), wanted.end(), category) != wanted.end();
}

inline Category category_of(const View& view, const Item& item) {
  return item.storage == kNone ? Category::unknown : view.holders.category(view.holders.representative(item.storage));
}

// Whether it may grow with the batch. What an optimizer made is as large as its parameters, whatever the batch.
inline bool of_the_batch(const RemedyCase& about, const LinesToChange& lines, const Item& item) {
  return item.device == about.device && item.allocation != kNone && !lines.in_optimizer(item.site);
}

}  // namespace tensorscope::analyzer::oom
