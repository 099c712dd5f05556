// SPDX-License-Identifier: Apache-2.0
// What a person wrote in a filter, compared with what the dumps have: a value that can match nothing is a mistake, and
// where a filter matches nothing the answer says which one, and what there is instead. Data only; the sentences are in
// text/filter_words.h.
#pragma once

#include <string>
#include <vector>

#include "memory/grouping.h"

namespace tensorscope::analyzer {

// Throws BadFilter for a dtype, device, shape, category or file that is none, with what there is. `views`: of all dumps
// in question; a value that one of them has is good for all. Their selections are not looked at.
void check_values(const Filter& filter, const std::vector<View>& views);

// The device that `--device` means; "cuda" is the first one. Throws BadInput for one that `file` does not have.
Device device_named(const std::string& name, const std::vector<Device>& known, const std::string& file);

// Why a selection is empty.
struct NoMatch {
  enum class Reason : uint8_t {
    no_tensors,    // and no filter
    one_filter,    // `field` with `values` matches nothing
    all_together,  // each filter matches something, but nothing matches all of them
  };
  Reason reason = Reason::no_tensors;
  FilterField field{};
  std::vector<std::string> values{};   // none for a flag or limit
  std::vector<std::string> near{};     // that were probably meant, the nearest first
  std::vector<std::string> present{};  // what the dumps have; of a line the lines of its file that created tensors
  bool names_known = true;             // of a name or holder
};
NoMatch why_nothing(const Filter& filter, const std::vector<View>& views);

}  // namespace tensorscope::analyzer
