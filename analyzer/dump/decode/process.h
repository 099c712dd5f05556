// SPDX-License-Identifier: Apache-2.0
// Which process it is, its steps and its groups, and what was recorded of it.
#pragma once

namespace tensorscope::format {
struct Coverages;
struct Process;
struct ProcessGroups;
struct Steps;
}  // namespace tensorscope::format

namespace tensorscope::analyzer {

struct Decoding;

void decode_process(const format::Process& in, Decoding& state);
void decode_process_groups(const format::ProcessGroups& in, Decoding& state);
void decode_steps(const format::Steps& in, Decoding& state);
void decode_coverage(const format::Coverages& in, Decoding& state);

}  // namespace tensorscope::analyzer
