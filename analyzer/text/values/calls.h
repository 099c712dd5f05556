// SPDX-License-Identifier: Apache-2.0
// The calls of modules in words: a tree with numbers, the same by name alone, or a sequence.
#pragma once

#include <cstddef>
#include <string>

#include "text/terminal.h"
#include "values/call_tree.h"

namespace tensorscope::text {

// "layers.0..11 x 12", "attn".
std::string call_node_label(const values::CallNode& node);

// What the file holds: counts, calls that raised or never ended.
std::string calls_head(const values::CallSequence& sequence, const std::string& file, const Terminal& terminal);
std::string call_tree_text(const values::CallTree& tree, const Terminal& terminal);
std::string squashed_calls_text(const values::SquashedCalls& calls, const Terminal& terminal);
// `top`: rows; 0: all.
std::string call_order_text(const values::CallSequence& sequence, size_t top, const Terminal& terminal);
std::string no_such_step(const values::CallSequence& all, uint32_t step, const std::string& file);

}  // namespace tensorscope::text
