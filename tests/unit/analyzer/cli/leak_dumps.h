// SPDX-License-Identifier: Apache-2.0
// A training run that leaks in several ways, for what `leaks` prints.
#pragma once

#include <string>

#include "support/dump_builder.h"

namespace tensorscope::testing {

// After 10 steps a minute: losses kept with their graphs, a cache of features, crops of batches, what C++ keeps, and a
// little that grows too slowly to be called a leak.
DumpBuilder leaking_dump(int minute, const std::string& directory);

}  // namespace tensorscope::testing
