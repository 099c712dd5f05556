// SPDX-License-Identifier: Apache-2.0
// TENSORSCOPE_* environment variables: one table (options.def) from which this struct, the parsing, the help text and
// the dump's record come. A wrong value is one clear line on standard error and the default; so is an unknown variable.
//
// Context: parsed once at activation, so that a process without torch prints nothing; constant afterwards.
#pragma once

#include "support/function_ref.h"
#include "support/option_types.h"

namespace tensorscope {

struct Options {
#define TENSORSCOPE_OPTION(field, variable, type, default_value, help) type field = default_value;
#include "support/options.def"
#undef TENSORSCOPE_OPTION
};

// Parses the environment, and prints the help if TENSORSCOPE_HELP is set. Safe without malloc; texts are copied, since
// a program may change its environment. `more`: settings that come before those of the environment, NAME=VALUE, each
// with its terminating zero, and an empty one; null: none.
void parse_options(const char* more = nullptr);
// Prints the help at load if TENSORSCOPE_HELP is set: in a process without torch nothing else would print it.
void print_help_if_asked();
const Options& options();

// For the dump and the help: calls the visitor for each row of the table. `value` is the one that took effect, valid
// during the call; "" where a text is not set.
void visit_options(FunctionRef<void(const char* variable, const char* value, const char* help)> visitor);

}  // namespace tensorscope
