// SPDX-License-Identifier: Apache-2.0
// Names of two runs of which one wraps its model (DistributedDataParallel, torch.compile(), ...): what belongs
// together.
//
// Context: pure.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace tensorscope::values {

struct Partners {
  std::unordered_map<std::string, std::string> of_b;  // a name of B to the one of A
  std::unordered_set<std::string> wrapped;            // of what a wrapper wraps, where the wrapper's is compared
};

// Of names that one run alone has, those that agree where as few segments of wrappers as can be are left out.
Partners find_partners(const std::set<std::string>& a, const std::set<std::string>& b);

}  // namespace tensorscope::values
