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

// "2", "more than 9.2e18", "endless (a cycle)".
std::string path_count(uint64_t paths);
// "#1043 train.py: loss  float32 [64, 1024]  256.0 MiB  cpu"
std::string tensor_line(const analyzer::GraphView& view, uint32_t tensor);
// "MseLossBackward0 > AddmmBackward0 x12 > ... (31 more) > AccumulateGrad".
std::string path_phrase(const analyzer::GraphView& view, const std::vector<uint32_t>& nodes);

// "3 slots, by saved-tensor hooks (checkpoint, offload); ...": said where what they keep is not counted.
std::string packed_phrase(uint64_t slots, bool certain);

std::string graph_overview_text(const analyzer::GraphView& view, const analyzer::GraphOverview& overview,
                                const GraphTextOptions& options);
std::string graph_below_text(const analyzer::GraphView& view, const analyzer::GraphBelow& below,
                             const analyzer::GraphDrawing& drawing, const GraphTextOptions& options);
std::string graph_path_text(const analyzer::GraphView& view, const analyzer::GraphPath& path,
                            const GraphTextOptions& options);
// `title`: of the tensor or node that was asked for.
std::string graph_keeps_text(const analyzer::GraphView& view, const std::string& title, const analyzer::Kept& kept,
                             bool certain, const GraphTextOptions& options);
std::string graph_neighbours_text(const analyzer::GraphView& view, uint32_t tensor,
                                  const analyzer::GraphNeighbours& neighbours, const GraphTextOptions& options);

}  // namespace tensorscope::text
