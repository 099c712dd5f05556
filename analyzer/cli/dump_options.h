// SPDX-License-Identifier: Apache-2.0
// The options by which dumps are opened and filtered, and how a verb ends that read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/invocation.h"
#include "memory/compared_dumps.h"
#include "memory/opened_dump.h"

namespace CLI {
class Option;
}

namespace tensorscope::cli {

// What was wrong with the file, on standard error; kBadInput where anything was, else `status`. The second and the
// third also say_unread().
int finish(Invocation& invocation, const analyzer::Dump& dump, int status = kOk);
int finish(Invocation& invocation, analyzer::OpenedDump& opened, int status = kOk);
int finish(Invocation& invocation, const analyzer::ComparedDumps& dumps, int status = kOk);
// The third one without say_unread(), for who says it of more than these dumps.
int finish_each(Invocation& invocation, const analyzer::ComparedDumps& dumps, int status = kOk);

// Says on standard error where the order of one run's dumps was changed, and which dumps do not know names.
void report_new_order(Invocation& invocation, const analyzer::ComparedDumps& dumps);
void report_without_names(Invocation& invocation, const analyzer::ComparedDumps& dumps);

// Says on standard error which libraries could not be read that what was shown depends on, if there are any.
void report_unread(Invocation& invocation, const analyzer::UnreadFiles& files);

// Where names of frames are from.
void add_frame_options(CLI::App& verb, analyzer::SymbolOptions& options);
// The same and --names-from, for verbs that read moments of recordings.
void add_symbol_options(CLI::App& verb, analyzer::SymbolOptions& options);
void add_filters(CLI::App& verb, analyzer::Filter& filter);
// --by, with `by` as the default.
void add_grouping(CLI::App& verb, analyzer::GroupBy& by);
// --top, the number of rows, with `top` as the default.
void add_top(CLI::App& verb, size_t& top);
// --full-stacks
void add_full_stacks(CLI::App& verb, bool& full_stacks);
// Options that take a size ("10M"), a time ("90s").
CLI::Option* add_size(CLI::App& verb, const std::string& name, std::optional<uint64_t>& value, const std::string& help);
CLI::Option* add_time(CLI::App& verb, const std::string& name, std::optional<uint64_t>& ns, const std::string& help);

}  // namespace tensorscope::cli
