// SPDX-License-Identifier: Apache-2.0
// Two runs compared, as JSON (docs/cli/compare.md).
#pragma once

#include <string>

#include "values/compare.h"

namespace tensorscope::exports {

std::string compare_json(const values::RunComparison& runs, const values::ValuesFile& a, const values::ValuesFile& b);

}  // namespace tensorscope::exports
