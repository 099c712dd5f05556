// SPDX-License-Identifier: Apache-2.0
#include "leaks/optimizer_references.h"

#include <string_view>

#include "leaks/retention.h"

namespace tensorscope::analyzer {

namespace {

constexpr std::string_view kStateKey = ".state (key)";

// Whether this is a parameter of a group, not what a parameter refers to: "[3]['params'][0]".
bool is_in_params(std::string_view behind_groups) {
  constexpr std::string_view kParams = "]['params'][";
  const size_t params = behind_groups.find(kParams);
  return params != std::string_view::npos &&
         behind_groups.find(']', params + kParams.size()) + 1 == behind_groups.size();
}

bool inside(const std::string& text, const std::string& optimizer) {
  return text.starts_with(optimizer + ".param_groups[") || text.starts_with(optimizer + ".state");
}

}  // namespace

std::string optimizer_of(const Reference& row) {
  if (row.text.ends_with(kStateKey)) return row.text.substr(0, row.text.size() - kStateKey.size());
  const size_t groups = row.text.find(".param_groups[");
  if (groups == std::string::npos || !is_in_params(std::string_view(row.text).substr(groups))) return "";
  return row.text.substr(0, groups);
}

std::string only_in_optimizer(const References& references, uint32_t tensor) {
  std::string optimizer;
  for (const Reference& row : references.of(tensor)) {
    if (holds(row) && optimizer.empty()) optimizer = optimizer_of(row);
  }
  if (optimizer.empty()) return "";
  for (const Reference& row : references.of(tensor)) {
    if (holds(row) && !inside(row.text, optimizer)) return "";
  }
  return optimizer;
}

}  // namespace tensorscope::analyzer
