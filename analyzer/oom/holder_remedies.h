// What Python holds and could free: garbage, containers, running sums, states that were not detached.
#pragma once

#include <vector>

#include "oom/lines_to_change.h"
#include "oom/remedy.h"
#include "oom/room.h"

namespace tensorscope::analyzer::oom {

// Nothing where the dump has no references.
std::vector<Remedy> holder_remedies(const RemedyCase& about, const Room& room, const LinesToChange& lines);

}  // namespace tensorscope::analyzer::oom
