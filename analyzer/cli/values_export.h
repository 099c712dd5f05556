// SPDX-License-Identifier: Apache-2.0
// values --export: the selected values in another program's format.
#pragma once

#include <string>

#include "cli/invocation.h"
#include "text/values/report.h"
#include "values/value_filter.h"

namespace tensorscope::cli {

struct ValuesExportOptions {
  std::string output;  // "": no export
  int compress = 0;
  bool force = false;
};

int export_values(const text::ValuesFiles& files, const values::ValueFilter& filter, const ValuesExportOptions& options,
                  Invocation& invocation);

}  // namespace tensorscope::cli
