// SPDX-License-Identifier: Apache-2.0
#include "dump/same_names.h"

namespace tensorscope::analyzer {

void distinguish_same_names(std::span<References* const> dumps) {
  rules::SameNames names;
  for (const References* references : dumps) {
    names.next_dump();
    for (const RunningCall& call : references->calls) names.add_thread(call.thread_name, call.begin.thread);
    for (const Reference& row : references->rows) names.add(row.view(), row.begin);
    for (const NodeReference& row : references->nodes) names.add(row.view(), row.begin);
    for (const ObjectContainer& row : references->containers) names.add(row.view(), row.begin);
    for (const SharedEntry& entry : references->shared) {
      for (const Reference& row : entry.others) names.add(row.view(), row.begin);
    }
  }
  for (References* references : dumps) {
    for (Reference& row : references->rows) row.which = names.which(row.view(), row.begin);
    for (NodeReference& row : references->nodes) row.which = names.which(row.view(), row.begin);
    for (ObjectContainer& row : references->containers) row.which = names.which(row.view(), row.begin);
    for (SharedEntry& entry : references->shared) {
      for (Reference& row : entry.others) row.which = names.which(row.view(), row.begin);
    }
  }
}

}  // namespace tensorscope::analyzer
