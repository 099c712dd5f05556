// SPDX-License-Identifier: Apache-2.0
// What `tensorscope graph` says on a terminal. Everything that comes from the dump is cleaned here.
#pragma once

#include <cstddef>
#include <string>

#include "autograd/graph_answers.h"
#include "autograd/graph_drawing.h"
#include "text/terminal.h"

namespace tensorscope::text {

struct GraphTextOptions {
  Terminal terminal;
  size_t top = 10;   // rows of a table; 0: all
  std::string dump;  // as the user gave it, for what to type next
};

std::string graph_overview_text(const analyzer::GraphView& view, const analyzer::GraphOverview& overview,
                                const GraphTextOptions& options);
std::string graph_below_text(const analyzer::GraphView& view, const analyzer::GraphBelow& below,
                             const analyzer::GraphDrawing& drawing, const GraphTextOptions& options);
std::string graph_path_text(const analyzer::GraphView& view, const analyzer::GraphPath& path,
                            const GraphTextOptions& options);
// `title`: of the tensor or node in question.
std::string graph_keeps_text(const analyzer::GraphView& view, const std::string& title, const analyzer::Kept& kept,
                             bool certain, const GraphTextOptions& options);
std::string graph_neighbours_text(const analyzer::GraphView& view, uint32_t tensor,
                                  const analyzer::GraphNeighbours& neighbours, const GraphTextOptions& options);

}  // namespace tensorscope::text
