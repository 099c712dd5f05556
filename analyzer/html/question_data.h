// SPDX-License-Identifier: Apache-2.0
// Answers of other verbs as parts of a page, in the words of the command line: what grew, what leaks, why memory ran
// out.
#pragma once

#include <functional>

#include "html/payload.h"
#include "leaks/leaks.h"
#include "memory/compared_dumps.h"

namespace tensorscope::html {

// What changed over two or more dumps, by line; null for one dump.
Json diff_data(analyzer::ComparedDumps& dumps);
// Findings of dumps of one run; null for dumps of several. Leaves out dumps that others cannot be compared with.
// `add_children`: adds what dumps of child processes show.
Json leaks_data(analyzer::ComparedDumps& dumps, const std::function<void(analyzer::Leaks&)>& add_children = nullptr);
// Of the last of these dumps, whose earlier ones show growth: the answer of `oom`, and each device's segments.
Json oom_data(analyzer::ComparedDumps& dumps, Payload& payload);

}  // namespace tensorscope::html
