// Variables of one name in several running calls of a function, of several threads or in recursion: which call each is
// of, for a person.
#pragma once

#include <span>

#include "dump/references.h"

namespace tensorscope::analyzer {

// Sets Reference::which wherever one of these dumps has two calls of the function at once: names are the same in
// all dumps then. `dumps`: of one run.
void tell_calls_apart(std::span<References* const> dumps);

}  // namespace tensorscope::analyzer
