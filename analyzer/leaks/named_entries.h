// SPDX-License-Identifier: Apache-2.0
// Entries of an nn.ModuleDict are attributes: "model.lora_A.de.weight" and "model.lora_A.fr.weight" are alike but for
// one name.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "leaks/series.h"

namespace tensorscope::analyzer {

inline constexpr size_t kMinNames = 4;

struct NamedEntry {
  size_t series = 0;  // number among those given
  std::string name;   // "de"
};

// Root, scope, the form with "*" for the name ("model.lora_A.*.weight", "bank.image_*"), and the calls or objects that
// the chains begin at.
using NamedPlace = std::tuple<uint8_t, std::string, std::string, std::vector<Beginning>>;

enum class Names : uint8_t {
  any,                     // "de" and "fr"; not numbers
  that_differ_in_numbers,  // "3" and "4", "image_3" and "image_4"
  of_attributes            // "bank.left" and "bank.right": the last part; of a module that is imported, its variables
};
// Groups the series whose forms differ in one name, by place. Of any names, the last part of a form is none.
std::map<NamedPlace, std::vector<NamedEntry>> alike_but_for_a_name(const std::vector<Series>& series, Names names);

// Likewise, of the entries for which `wants` is true; `numbers`: only names that are numbers, else only others. `path`
// is that of the entry itself: "model.lora_A.de".
using WantsEntry = std::function<bool(const Series& series, const std::string& path)>;
std::map<NamedPlace, std::vector<NamedEntry>> alike_wanted_entries(const std::vector<Series>& series,
                                                                   const WantsEntry& wants, bool numbers);

}  // namespace tensorscope::analyzer
