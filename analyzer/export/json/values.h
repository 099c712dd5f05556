// SPDX-License-Identifier: Apache-2.0
// The answers of `tensorscope values` for programs (docs/json.md).
#pragma once

#include <string>
#include <vector>

#include "text/values/report.h"

namespace tensorscope::exports {

// `top`: rows; 0 for all.
std::string values_json(const text::ValuesFiles& files, const std::vector<values::NameRow>& rows, size_t top);
std::string statistics_json(const text::ValuesFiles& files, const std::vector<text::StatRow>& rows);
std::string value_json(const text::ValuesFiles& files, size_t file, const values::Value& value);

}  // namespace tensorscope::exports
