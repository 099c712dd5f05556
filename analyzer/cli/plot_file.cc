// SPDX-License-Identifier: Apache-2.0
#include "cli/plot_file.h"

#include "cli/graphviz.h"
#include "cli/replaced_file.h"

namespace tensorscope::cli {

bool may_plot(const std::string& output, bool force, Invocation& invocation) {
  if (!output.ends_with(".png") && !output.ends_with(".html") && !output.ends_with(".svg")) {
    invocation.say("--plot writes .svg, .html or .png (with Graphviz).");
    return false;
  }
  return may_write(output, force, invocation);
}

int write_charts(const exports::ChartSheet& sheet, const std::string& output, Invocation& invocation) {
  std::string picture;
  if (output.ends_with(".png")) {
    picture = draw_with_graphviz(exports::charts_dot(sheet), "png");
  } else {
    picture = output.ends_with(".html") ? exports::charts_html(sheet) : exports::charts_svg(sheet);
  }
  return write_file(output, picture, true, invocation) ? kOk : kBadInput;
}

}  // namespace tensorscope::cli
