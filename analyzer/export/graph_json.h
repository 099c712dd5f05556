// Answers of `tensorscope graph` as JSON: docs/cli/graph.md has the fields. One object, the same bytes every time.
#pragma once

#include <string>
#include <vector>

#include "autograd/graph_answers.h"
#include "autograd/graph_drawing.h"

namespace tensorscope::render {

std::string graph_overview_json(const model::GraphView& view, const model::GraphOverview& overview,
                                const model::GraphDrawing& drawing);
std::string graph_below_json(const model::GraphView& view, const model::GraphBelow& below,
                             const model::GraphDrawing& drawing);
// `a` and `b` as they were asked for; no path: "found" is false.
std::string graph_path_json(const model::GraphView& view, uint32_t a, uint32_t b, const model::GraphPath& path);
std::string graph_keeps_json(const model::GraphView& view, uint32_t node, const model::Kept& kept, bool certain);
std::string graph_neighbours_json(const model::GraphView& view, uint32_t tensor,
                                  const model::GraphNeighbours& neighbours);

}  // namespace tensorscope::render
