// SPDX-License-Identifier: Apache-2.0
// Many names as one text: the forms that matter most.
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

std::string MergedNames::text(size_t shown) const {
  std::string text;
  for (const rules::NameForms::Form& form : forms_.largest(shown)) text += (text.empty() ? "" : "; ") + form.text;
  if (forms_.size() > shown) text += " and " + std::to_string(forms_.size() - shown) + " more";
  return text;
}

}  // namespace tensorscope::analyzer
