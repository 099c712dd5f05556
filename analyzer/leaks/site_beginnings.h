// SPDX-License-Identifier: Apache-2.0
// Since when a program can have been at a site. Sites are numbered in the order in which they were first seen, so that
// one that has freed nothing, and whose oldest tensor or block says when it was first seen, dates those after it.
//
// Linear in sites, tensors and allocations, once.
#pragma once

#include <cstdint>
#include <vector>

#include "dump/dump.h"

namespace tensorscope::analyzer {

class SiteBeginnings {
 public:
  explicit SiteBeginnings(const Dump& dump);

  // A serial before which nothing was made at this site; 0: not known.
  uint64_t earliest_serial(uint32_t site) const { return not_before_[site]; }

 private:
  std::vector<uint64_t> not_before_;
};

}  // namespace tensorscope::analyzer
