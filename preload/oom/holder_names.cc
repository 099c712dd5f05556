// SPDX-License-Identifier: Apache-2.0
#include "oom/holder_names.h"

#include "oom/unqualified.h"
#include "tensorscope/rules/name_forms.h"
#include "tensorscope/rules/number_text.h"
#include "tensorscope/rules/reference_text.h"

namespace tensorscope::oom {

namespace {

// The name that the program gave it, else its holder in Python.
std::string name_in_python(const TensorLinks& links, uint32_t tensor) {
  rules::Reference best;
  size_t place = 0;
  bool found = false;
  for (size_t i = 0; i < links.references(tensor).size(); ++i) {
    const rules::Reference row = links.reference(tensor, i);
    if (row.root == format::ReferenceRoot::user) return rules::reference_text(row);
    if (rules::is_only_a_name(row.root) || (found && !rules::names_holder_before(row, best))) continue;
    best = row;
    place = i;
    found = true;
  }
  if (!found) return "";
  const std::string which = links.which(tensor, place);
  best.which = which;
  return rules::holder_text(best);
}

std::string slot_name(const DumpTables& tables, const TensorLinks::Slot& held) {
  const torch::Graph& graph = tables.graph;
  const torch::Graph::Node& node = graph.nodes[held.node];
  const format::SavedSlot& slot = graph.saved[held.slot];
  std::string_view type;
  if (node.class_number < graph.class_names.size()) type = unqualified(graph.class_names[node.class_number]);
  if (held.function < graph.functions.size() && !graph.functions[held.function].empty()) {
    type = graph.functions[held.function];
  }
  if (type.empty()) return "the autograd graph";
  std::string_view known;
  for (const format::SlotName& row : tables.references.slots) {
    const bool same = row.ordinal() == slot.ordinal() && tables.references.strings[row.class_name()] == type;
    if (same && known.empty()) known = tables.references.strings[row.name()];
  }
  return "saved by " + std::string(type) + "." + rules::slot_text(node.flags, slot.ordinal(), slot.element(), known);
}

}  // namespace

std::string holder_name(const DumpTables& tables, const TensorLinks& links, uint32_t tensor) {
  const uint32_t owner = links.gradient_of(tensor);
  std::string name = name_in_python(links, owner != kNone ? owner : tensor);
  if (owner != kNone) return name.empty() ? "gradients" : "gradient of " + name;
  if (!name.empty()) return name;
  const TensorLinks::Slot slot = links.saved_by(tensor);
  return slot.node == kNone ? std::string() : slot_name(tables, slot);
}

std::string merged_names(const std::vector<HeldBytes>& names) {
  rules::NameForms forms;
  uint64_t bytes = 0, tensors = 0;
  for (const HeldBytes& each : names) {
    forms.add(each.name, each.bytes);
    bytes += each.bytes;
    tensors += each.tensors;
  }
  if (forms.size() == 0) return "";
  const rules::NameForms::Form form = forms.largest(1).front();
  if (form.names == tensors) return form.text;
  return form.text + " (" + ByteText(form.bytes).c_str() + ") and " + std::to_string(tensors - form.names) + " more (" +
         ByteText(bytes - form.bytes).c_str() + ")";
}

}  // namespace tensorscope::oom
