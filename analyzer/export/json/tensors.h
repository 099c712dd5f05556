// SPDX-License-Identifier: Apache-2.0
// The rows "tensors" of the JSON export (docs/json.md): what each tensor is, with its names and holders where asked
// for.
#pragma once

#include <ostream>

#include "export/export.h"
#include "export/json/stacks.h"

namespace tensorscope::exports {

// "tensors", with a comma before it.
void write_tensors_json(const analyzer::Dump& dump, analyzer::Symbols& symbols, StackTexts& stacks,
                        const ExportOptions& options, std::ostream& out);

}  // namespace tensorscope::exports
