// SPDX-License-Identifier: Apache-2.0
// Answers of `tensorscope graph` as JSON: docs/cli/graph.md has the fields. One object, the same bytes every time.
#pragma once

#include <string>
#include <vector>

#include "autograd/graph_answers.h"
#include "autograd/graph_drawing.h"

namespace tensorscope::exports {

std::string graph_overview_json(const analyzer::GraphView& view, const analyzer::GraphOverview& overview,
                                const analyzer::GraphDrawing& drawing);
std::string graph_below_json(const analyzer::GraphView& view, const analyzer::GraphBelow& below,
                             const analyzer::GraphDrawing& drawing);
// `a` and `b` in the order of --path; no path: "found" is false.
std::string graph_path_json(const analyzer::GraphView& view, uint32_t a, uint32_t b, const analyzer::GraphPath& path);
std::string graph_keeps_json(const analyzer::GraphView& view, uint32_t node, const analyzer::Kept& kept, bool certain);
std::string graph_neighbours_json(const analyzer::GraphView& view, uint32_t tensor,
                                  const analyzer::GraphNeighbours& neighbours);

}  // namespace tensorscope::exports
