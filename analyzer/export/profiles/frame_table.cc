// SPDX-License-Identifier: Apache-2.0
#include "export/profiles/frame_table.h"

#include "support/printable.h"

namespace tensorscope::exports {

uint32_t FrameTable::add(const analyzer::Frame& frame) {
  TableFrame row;
  row.name = analyzer::printable(frame.function);
  row.file = analyzer::printable(frame.file.empty() ? frame.object : frame.file);
  row.line = frame.line;
  if (row.name.empty()) row.name = frame.object.empty() ? "unknown" : "[" + analyzer::printable(frame.object) + "]";
  const auto [at, fresh] = ids_.try_emplace(row, uint32_t(frames_.size()));
  if (fresh) frames_.push_back(row);
  return at->second;
}

}  // namespace tensorscope::exports
