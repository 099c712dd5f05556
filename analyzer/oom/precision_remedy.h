// SPDX-License-Identifier: Apache-2.0
// torch.autocast: what the batch and the model make of float32 would have 16 bits.
#pragma once

#include <optional>

#include "oom/headroom.h"
#include "oom/lines_to_change.h"
#include "oom/remedy.h"

namespace tensorscope::analyzer::oom {

std::optional<Remedy> precision_remedy(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines);

}  // namespace tensorscope::analyzer::oom
