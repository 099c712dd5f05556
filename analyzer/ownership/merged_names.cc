// SPDX-License-Identifier: Apache-2.0
// Many names as one text: the two forms that matter most.
#include "ownership/holders.h"

namespace tensorscope::analyzer {

std::string merged_names(const std::vector<std::string>& names) {
  MergedNames merged;
  for (const std::string& name : names) merged.add(name, 0);
  return merged.text();
}

std::string merged_names(const std::vector<WeighedName>& names) {
  MergedNames merged;
  for (const auto& [name, bytes] : names) merged.add(name, bytes);
  return merged.text();
}

std::string MergedNames::text() const {
  constexpr size_t kShown = 2;
  std::string text;
  for (const rules::NameForms::Form& form : forms_.largest(kShown)) text += (text.empty() ? "" : "; ") + form.text;
  if (forms_.size() > kShown) text += " and " + std::to_string(forms_.size() - kShown) + " more";
  return text;
}

}  // namespace tensorscope::analyzer
