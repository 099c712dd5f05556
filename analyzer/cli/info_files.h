// SPDX-License-Identifier: Apache-2.0
// What `info` says of files: source lines that the dump brings along, and objects that are found on this machine.
#pragma once

#include <string>

#include "dump/dump.h"
#include "symbols/symbols.h"
#include "text/terminal.h"

namespace tensorscope::cli {

size_t source_line_count(const analyzer::Dump& dump);
// "12 files; changed after the process started: train.py"
std::string source_phrase(const analyzer::Dump& dump);
// How many objects with native frames were found here, and a line for each that was not, and why.
std::string symbols_text(analyzer::Symbols& symbols, const text::Terminal& terminal);

}  // namespace tensorscope::cli
