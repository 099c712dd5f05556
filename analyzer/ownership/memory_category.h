// SPDX-License-Identifier: Apache-2.0
// What an allocation of a recorded run is for: as a dump of the run says, where it is in one; else inferred from its
// call stack and from how long it lived.
#pragma once

#include <cstdint>
#include <string>

#include "dump/allocation_life.h"
#include "dump/dump.h"
#include "ownership/names_of_run.h"
#include "symbols/frame_facts.h"

namespace tensorscope::analyzer {

struct MemoryCategory {
  Category category = Category::unknown;
  CategorySource source = CategorySource::unknown;
  const char* why = "";  // inferred: from what
};

class MemoryCategories {
 public:
  // `dump`: of the recording; it has the stacks of all sites. `names`: null where no dump was found.
  MemoryCategories(const Dump& dump, const NamesOfRun* names)
      : facts_(dump), sites_(dump.sites.size()), names_(names) {}

  // `backward`: made in a backward pass.
  MemoryCategory of(uint64_t serial, uint32_t site, bool backward, AllocationLife life) const;

 private:
  const FrameFacts facts_;
  const size_t sites_;
  const NamesOfRun* names_;
};

// The same without any dump. `parts`: of code::TorchPart.
MemoryCategory inferred_category(uint8_t parts, bool backward, AllocationLife life);

}  // namespace tensorscope::analyzer
