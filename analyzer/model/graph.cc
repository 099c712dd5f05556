#include "model/graph.h"

#include "dump_generated.h"

namespace tensorscope::model {

std::string Graph::slot_name(uint32_t node, const SavedSlot& slot) const {
  if ((nodes[node].flags & uint8_t(dump::GraphNodeFlag::python)) != 0) {
    return "saved_tensors[" + std::to_string(slot.element < 0 ? int(slot.ordinal) : int(slot.element)) + "]";
  }
  if ((nodes[node].flags & uint8_t(dump::GraphNodeFlag::accumulates)) != 0) return "variable";  // as Python calls it
  auto known = slot_names.find({nodes[node].class_name, slot.ordinal});
  if (known == slot_names.end() || known->second.empty()) {
    std::string name = "saved[" + std::to_string(slot.ordinal) + "]";
    return slot.element < 0 ? name : name + "[" + std::to_string(slot.element) + "]";
  }
  return slot.element < 0 ? known->second : known->second + "[" + std::to_string(slot.element) + "]";
}

}  // namespace tensorscope::model
