// SPDX-License-Identifier: Apache-2.0
// The tables of `ranks`: members, outliers, what differs, steps, growth, leaks. Each is "" if there is nothing to show.
#pragma once

#include <string>

#include "text/ranks/shown.h"

namespace tensorscope::text {

std::string members_table(const RanksView& view);
std::string outliers_table(const RanksView& view);
std::string difference_table(const RanksView& view, analyzer::RankSubject subject);
std::string steps_table(const RanksView& view);
std::string growth_table(const RanksView& view);
std::string leaks_table(const RanksView& view);

}  // namespace tensorscope::text
