// SPDX-License-Identifier: Apache-2.0
// What each site holds now: every live byte at one site, allocations at their own, memory that no allocator knows at
// that of its oldest tensor.
#pragma once

#include <cstdint>
#include <map>

#include "dump/dump.h"

namespace tensorscope::exports {

struct SiteSum {
  uint64_t bytes = 0;
  uint64_t blocks = 0;  // allocations and storages outside
};

// By site; sites without bytes are left out.
std::map<uint32_t, SiteSum> live_by_site(const analyzer::Dump& dump);

}  // namespace tensorscope::exports
