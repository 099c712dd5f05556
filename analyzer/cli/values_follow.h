// SPDX-License-Identifier: Apache-2.0
// values --follow: what is added to the files while the program runs, as text or into an HDF5 file.
#pragma once

#include <vector>

#include "cli/values_export.h"

namespace tensorscope::cli {

// Ends when every file has its end, is damaged, or its process is gone.
int follow_values(const text::ValuesFiles& files, const values::ValueFilter& filter,
                  const std::vector<values::Stat>& stats, const ValuesExportOptions& output, Invocation& invocation);

}  // namespace tensorscope::cli
