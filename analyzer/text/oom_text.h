// The answer of `oom` for people: its first five lines say it all, the rest shows on what they rest.
#pragma once

#include <string>

#include "commands/compared_dumps.h"
#include "model/out_of_memory/story.h"

namespace tensorscope::commands {

struct OomTextOptions {
  size_t top = 5;  // 0: all
  bool full_stacks = false, glossary = true;
};

// `dumps`: what lies on the story's device is selected in them.
std::string oom_text(ComparedDumps& dumps, const model::oom::Story& story, const OomTextOptions& options,
                     const render::Terminal& terminal);

// The tree of a balance, a line a part, with exact bytes; shares are of what torch has in use.
std::string balance_text(const model::oom::Part& balance, const render::Terminal& terminal);

// What the terms that `text` uses mean; "" where it uses none.
std::string glossary(const std::string& text, const render::Terminal& terminal);

}  // namespace tensorscope::commands
