// SPDX-License-Identifier: Apache-2.0
// Many names as one text: the two forms that matter most.
#include "ownership/holders.h"
#include "tensorscope/rules/name_forms.h"

namespace tensorscope::analyzer {

std::string merged_names(const std::vector<std::string>& names) {
  std::vector<WeighedName> weighed;
  for (const std::string& name : names) weighed.emplace_back(name, 0);
  return merged_names(weighed);
}

std::string merged_names(const std::vector<WeighedName>& names) {
  constexpr size_t kShown = 2;
  rules::NameForms forms;
  for (const auto& [name, bytes] : names) forms.add(name, bytes);
  std::string text;
  for (const rules::NameForms::Form& form : forms.largest(kShown)) text += (text.empty() ? "" : "; ") + form.text;
  if (forms.size() > kShown) text += " and " + std::to_string(forms.size() - kShown) + " more";
  return text;
}

size_t name_forms(const std::vector<std::string>& names) {
  rules::NameForms forms;
  for (const std::string& name : names) forms.add(name, 0);
  return forms.size();
}

}  // namespace tensorscope::analyzer
