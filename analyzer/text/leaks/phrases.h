// SPDX-License-Identifier: Apache-2.0
// The words of `leaks`: what a finding is called, who holds it, its evidence and what to do about it. For text and JSON
// alike. Pure functions.
#pragma once

#include <string>

#include "leaks/leaks.h"

namespace tensorscope::text {

const char* title(analyzer::LeakKind kind);  // "autograd graphs kept by an accumulated loss"
// "train.py: losses[0..95]", "unreachable cycle of Node, dict", "a, b, c and 4 more".
std::string holder_phrase(const analyzer::LeakFinding& finding);
// "child process 4712", "2 child processes (4712, 4713)"
std::string child_processes_phrase(const analyzer::OfChildren& children);
const char* counts_phrase(analyzer::LeakFinding::Counts counts);  // "tensors"
std::string advice_phrase(const analyzer::LeakFinding& finding);
// About a place that no finding explains; "" where one does.
std::string advice_phrase(const analyzer::GrownPlace& grown);

// The label of a number, or all there is to say where a fact has none.
std::string fact_phrase(const analyzer::Fact& fact);
// What to do about the part of the process's memory that grew most; "" where none did.
std::string process_advice(const analyzer::Leaks& leaks);
const char* process_advice(analyzer::FactKind part);

}  // namespace tensorscope::text
