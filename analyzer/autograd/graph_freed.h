// SPDX-License-Identifier: Apache-2.0
// Which backward pass freed what autograd nodes had saved: the line of the program that called it.
//
// A freed node ran last in the pass that freed it, so the memory that it allocated last shows the pass. Not known of
// nodes that allocated nothing, or ran on a thread of a device, which has no Python stack.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dump/dump.h"
#include "symbols/places.h"

namespace tensorscope::analyzer {

// torch's own Python functions that start a backward pass.
bool calls_engine(const Code& code);

// "train.py:57 main"; "" where it is not known or the node is not freed.
std::string freed_at(const Dump& dump, Places& places, uint32_t node);

struct FreedNodes {
  std::string where;  // "": not known
  uint64_t nodes = 0;
};
// Of those nodes that are freed, by place: known places first, the most nodes first.
std::vector<FreedNodes> freed_by_place(const Dump& dump, Places& places, std::span<const uint32_t> nodes);

}  // namespace tensorscope::analyzer
