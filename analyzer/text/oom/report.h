// SPDX-License-Identifier: Apache-2.0
// The answer of `oom` for people: its first five lines say it all, the rest shows on what they rest.
#pragma once

#include <string>

#include "memory/compared_dumps.h"
#include "oom/oom_analysis.h"
#include "text/oom/glossary.h"
#include "text/terminal.h"

namespace tensorscope::text {

struct OomTextOptions {
  size_t top = 5;  // 0: all
  bool full_stacks = false, glossary = true;
};

// `dumps`: what lies on the story's device is selected in them.
std::string oom_text(analyzer::ComparedDumps& dumps, const analyzer::oom::OomAnalysis& analysis,
                     const OomTextOptions& options, const text::Terminal& terminal);

// The tree of a balance, a line a part, with exact bytes; shares are of what torch has in use.
// The terms it uses are noted in `glossary`.
std::string balance_text(const analyzer::oom::BalanceNode& balance, const text::Terminal& terminal, Glossary& glossary);

}  // namespace tensorscope::text
