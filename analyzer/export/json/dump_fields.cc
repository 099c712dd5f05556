// SPDX-License-Identifier: Apache-2.0
#include "export/json/dump_fields.h"

namespace tensorscope::exports {

using analyzer::Dump;

Json tid_json(const Dump& dump, uint32_t thread) {
  return thread == 0 ? Json(nullptr) : Json(dump.threads[thread].tid);
}

Json thread_name_json(const Dump& dump, uint32_t thread) {
  return thread == 0 ? Json(nullptr) : Json(dump.threads[thread].name);
}

Json age_json(const Dump& dump, uint64_t created_ns) {
  return created_ns == 0 || dump.process.dump_ns < created_ns ? Json(nullptr) : Json(dump.process.dump_ns - created_ns);
}

Json node_number_json(uint32_t node) { return node == analyzer::kNoNode ? Json(nullptr) : Json(node); }

Json tensor_id_json(const Dump& dump, uint32_t tensor) {
  return tensor == analyzer::kNone ? Json(nullptr) : Json(dump.tensors[tensor].serial);
}

}  // namespace tensorscope::exports
