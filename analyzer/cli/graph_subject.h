// SPDX-License-Identifier: Apache-2.0
// What a question about the graph is about: a tensor by id or name, or a node of the graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autograd/graph_answers.h"
#include "cli/invocation.h"

namespace tensorscope::cli {

// The tensors that are called `text`. Where there is none, says so on standard error, with names that are near.
std::vector<uint32_t> find_tensors(const analyzer::Dump& dump, const analyzer::TensorNames& names,
                                   const std::string& path, const std::string& text, Invocation& invocation);
// Exactly one tensor. Where there is none or several, says so on standard error.
std::optional<uint32_t> find_tensor(const analyzer::GraphView& view, const std::string& dump, const std::string& text,
                                    Invocation& invocation);
// A tensor, "node:17", or a variable that holds a node (fn = loss.grad_fn).
std::optional<analyzer::GraphSubject> find_subject(const analyzer::GraphView& view, const std::string& dump,
                                                   const std::string& text, Invocation& invocation);
// Why a tensor has no node, in a sentence.
std::string why_no_graph(const analyzer::GraphView& view, uint32_t tensor);
// Why no path leads from one tensor to the other, in a sentence.
std::string why_no_path(const analyzer::GraphView& view, uint32_t a, uint32_t b);

}  // namespace tensorscope::cli
