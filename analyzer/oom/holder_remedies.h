// What Python holds and could let go of: garbage, containers, running sums, states that were not detached.
#pragma once

#include <vector>

#include "model/out_of_memory/remedy.h"
#include "model/out_of_memory/room.h"

namespace tensorscope::model::oom {

// Nothing where the dump has no references.
std::vector<Remedy> holder_remedies(const RemedyCase& about, const Room& room);

}  // namespace tensorscope::model::oom
