// SPDX-License-Identifier: Apache-2.0
// The words of a balance: the name of a part and the remarks beside its bytes. For text and JSON alike. Pure
// functions.
#pragma once

#include <string>

#include "oom/balance_node.h"

namespace tensorscope::text {

// "torch, reserved", "private pool (0, 3)", "model.layers.*.attn"; "" where the part's name for programs says it.
std::string label_phrase(const analyzer::oom::BalanceNode& part);
// "in 3 blocks, the largest 220.0 MiB"; "" where there is nothing to say.
std::string note_phrase(const analyzer::oom::PartNote& note);

}  // namespace tensorscope::text
