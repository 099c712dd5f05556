// SPDX-License-Identifier: Apache-2.0
#include "dump/graph.h"

#include "dump_generated.h"
#include "tensorscope/rules/reference_text.h"

namespace tensorscope::analyzer {

std::string Graph::gap() const {
  if (!present) return "the autograd graph was not recorded";
  return detail.empty() ? "the autograd graph was not read to its end" : "the autograd graph: " + detail;
}

std::string Graph::slot_name(uint32_t node, const SavedSlot& slot) const {
  const auto known = slot_names.find({nodes[node].class_name, slot.ordinal});
  return rules::slot_text(nodes[node].flags, slot.ordinal, slot.element,
                          known != slot_names.end() ? known->second : "");
}

}  // namespace tensorscope::analyzer
