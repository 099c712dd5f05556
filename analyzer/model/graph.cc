#include "model/graph.h"

namespace tensorscope::model {

std::string Graph::slot_name(uint32_t node, const SavedSlot& slot) const {
  auto known = slot_names.find({nodes[node].class_name, slot.ordinal});
  if (known == slot_names.end() || known->second.empty()) {
    std::string name = "saved[" + std::to_string(slot.ordinal) + "]";
    return slot.element < 0 ? name : name + "[" + std::to_string(slot.element) + "]";
  }
  return slot.element < 0 ? known->second : known->second + "[" + std::to_string(slot.element) + "]";
}

}  // namespace tensorscope::model
