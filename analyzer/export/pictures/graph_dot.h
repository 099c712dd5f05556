// SPDX-License-Identifier: Apache-2.0
// A drawing in Graphviz' language. Boxes differ by kind in shape and colour, as in pytorchviz: leaves blue, saved
// tensors orange, outputs green, bases of views pale green with a dotted edge, functions grey.
#pragma once

#include <string>

#include "autograd/graph_drawing.h"

namespace tensorscope::exports {

// `title` stands above the picture.
std::string graph_dot(const analyzer::GraphView& view, const analyzer::GraphDrawing& drawing, const std::string& title);

}  // namespace tensorscope::exports
