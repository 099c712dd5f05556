// SPDX-License-Identifier: Apache-2.0
// Words that the texts, JSON and drawings of a graph share.
#pragma once

#include <string>

#include "autograd/graph_answers.h"
#include "autograd/graph_drawing.h"
#include "autograd/graph_view.h"

namespace tensorscope::text {

// "AddmmBackward0 of model.fc1, made at train.py:57 step".
std::string node_phrase(const analyzer::GraphView& view, uint32_t node);
// What a root is called: the tensor that came out of it, a variable with the node, else "node:17".
std::string root_title(const analyzer::GraphView& view, uint32_t node);
// Returns the title of the tensor or node in question: a tensor's line, or a node as root_title() has it.
std::string subject_title(const analyzer::GraphView& view, const analyzer::GraphSubject& subject);
// What holds a storage that a graph keeps: "MulBackward0.self", "ctx.cache of Attention", "a leaf".
std::string holder_phrase(const analyzer::GraphView& view, const analyzer::KeptStorage& entry);
// The same as one types it: "1043", "node:17".
std::string root_argument(const analyzer::GraphView& view, uint32_t node);
// Why names and holders in Python are not known, or not all: "names were not looked up (switched off by ...)". "" where
// all are.
std::string missing_names_phrase(const analyzer::Dump& dump);
// A leaf's tensor; one without a name with the line that created it: "#12, made at train.py:30 main".
std::string leaf_title(const analyzer::GraphView& view, uint32_t accumulator);
// What stands first in a box: "model.fc1", "#12 model.fc1.weight", "3 leaves".
std::string box_title(const analyzer::GraphView& view, const analyzer::DrawnBox& box);
// Beside a tensor's box: "leaf", "saved tensor, MulBackward0.self".
std::string text_of_kind(const analyzer::DrawnBox& box);

// "2", "more than 9.2e18", "endless (a cycle)".
std::string path_count(uint64_t paths);
// "#1043 train.py: loss  float32 [64, 1024]  256.0 MiB  cpu"
std::string tensor_line(const analyzer::GraphView& view, uint32_t tensor);
// "MseLossBackward0 > AddmmBackward0 x12 > ... (31 more) > AccumulateGrad".
std::string path_phrase(const analyzer::GraphView& view, const std::vector<uint32_t>& nodes);

// "3 slots, by saved-tensor hooks (checkpoint, offload); ...": said where what they keep is not counted.
std::string packed_phrase(uint64_t slots, bool certain);

}  // namespace tensorscope::text
