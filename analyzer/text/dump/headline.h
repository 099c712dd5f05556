// SPDX-License-Identifier: Apache-2.0
// Lines about a dump as a whole, that several verbs share: which process, when and why; what was seen and what was not.
#pragma once

#include <string>

#include "dump/dump.h"
#include "text/terminal.h"

namespace tensorscope::text {

// "train.py"
std::string program_name(const analyzer::Process& process);
// "asked for by SIGUSR1"
std::string trigger_text(const analyzer::Process& process);
// "train.py, pid 4242 on node7 (rank 0 of 8), 12m03s after start, asked for by SIGUSR1"
std::string process_line(const analyzer::Process& process);
// Of a process that tensorscope was attached to: what is therefore missing; "" for others.
std::string attach_text(const analyzer::Process& process);
// "torch 2.13.0+cpu, CPython 3.11.7. Seen: ... Not seen: CUDA memory (not loaded)."
std::string versions_text(const analyzer::Process& process);
std::string coverage_text(const analyzer::Dump& dump);
// "time limit of 5.0 s (TENSORSCOPE_NAMES_GIL_MS)": what ended the search for names; "" where nothing did.
std::string names_limit(const analyzer::References& references);
// The process, what of the numbers' sources was not seen whole, and how far names got, if not to the end. Cleaned and
// wrapped, each line ended.
std::string headline(const analyzer::Dump& dump, const text::Terminal& terminal);

// For the end of an answer: versions, all that was seen and was not. As headline().
std::string coverage_lines(const analyzer::Dump& dump, const text::Terminal& terminal);

}  // namespace tensorscope::text
