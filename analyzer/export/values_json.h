// The answers of `tensorscope values` for programs (docs/json.md).
#pragma once

#include <string>
#include <vector>

#include "text/values_text.h"

namespace tensorscope::render {

// `top`: rows; 0 for all.
std::string values_json(const ValuesFiles& files, const std::vector<values::NameRow>& rows, size_t top);
std::string statistics_json(const ValuesFiles& files, const std::vector<StatRow>& rows);
std::string value_json(const ValuesFiles& files, size_t file, const values::Value& value);

}  // namespace tensorscope::render
