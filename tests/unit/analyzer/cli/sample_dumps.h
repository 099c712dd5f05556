// SPDX-License-Identifier: Apache-2.0
// Synthetic dumps of one small training program, for the tests of commands: the same bytes every time.
#pragma once

#include <string>

#include "support/dump_builder.h"

namespace tensorscope::testing {

// The lines of the program that its dumps bring along.
void add_source_lines(DumpBuilder& builder, const std::string& directory);

// One run at three moments a minute apart (1, 2, 3). A model of two linear layers with gradients and Adam's state;
// losses with their graphs kept in a list (32 more a minute: the leak); a batch that comes and goes, with two views; a
// numpy array, a shared-memory batch, a sparse and a meta tensor; a block in no tensor and a block with an unused end.
// `directory`: where its sources are.
DumpBuilder training_dump(int minute, const std::string& directory = "/home/user");

// The same program in another process, with more memory at the same places and another dtype.
DumpBuilder other_run_dump();

// A C++ program on a GPU: native stacks only, allocator's own totals, an autograd node.
DumpBuilder native_dump();

// A small transformer in training that keeps the losses of its steps, and so their graphs: names, references, graph.
DumpBuilder held_dump(int steps, const std::string& directory = "/home/user");

// Every text of the dump tries to take over the terminal.
DumpBuilder hostile_dump();

}  // namespace tensorscope::testing
