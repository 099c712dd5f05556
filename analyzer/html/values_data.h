// SPDX-License-Identifier: Apache-2.0
// Values files as parts of a page: statistics over steps, histograms, calls of modules.
#pragma once

#include <memory>
#include <vector>

#include "html/payload.h"
#include "values/values_file.h"

namespace tensorscope::html {

using ValuesFiles = std::vector<std::unique_ptr<values::ValuesFile>>;

Json values_data(const ValuesFiles& files, bool confidential, Payload& payload);
// One entry a file with calls; null where none has.
Json calls_data(const ValuesFiles& files);

}  // namespace tensorscope::html
