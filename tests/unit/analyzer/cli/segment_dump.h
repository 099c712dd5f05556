// SPDX-License-Identifier: Apache-2.0
// A synthetic dump of a program with two CUDA devices: streams, a private pool, expandable segments and fragmentation
// on the first, nothing known of the second.
#pragma once

#include "support/dump_builder.h"

namespace tensorscope::testing {

DumpBuilder segment_dump();

}  // namespace tensorscope::testing
