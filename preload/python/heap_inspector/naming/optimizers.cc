// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/naming/optimizers.h"

#include <algorithm>

#include "python/heap_inspector/graph/type_fields.h"
#include "python/objects.h"

namespace tensorscope::python::heap_inspector {

Optimizers::Optimizers(const Gil& gil, const ObjectGraph& graph, Attributes& attributes, LookLimits& limits)
    : gil_(gil), graph_(graph), attributes_(attributes), limits_(limits), trained_(graph.size()) {
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.kind(i) != Kind::optimizer || limits.reached()) continue;
    optimizers_.push_back(i);
    each_element(gil, attributes.find(graph.object(i), "param_groups"), [&](ptrdiff_t, Object* group) {
      each_element(gil, entry(gil, group, "params"), [&](ptrdiff_t, Object* tensor) {
        const uint32_t number = graph.find(tensor);
        if (number != kNoObject) trained_[number] = true;
        return !limits_.reached();
      });
      return true;
    });
  }
}

void Optimizers::lead(ObjectPaths& paths) const {
  for (const uint32_t optimizer : optimizers_) {
    if (!paths.reached(optimizer)) continue;
    const uint32_t state = attributes_.lead(graph_, optimizer, "state", paths);
    if (state == kNoObject) continue;
    each_entry(gil_, graph_.object(state), [&](Object*, Object* entries) {
      const uint32_t number = graph_.find(entries);
      if (number != kNoObject && has_flag(entries, type_flags::kDict)) paths.prefer_parent(number, state);
      return !limits_.reached();
    });
  }
}

void Optimizers::call(Chains& chains) const {
  for (const uint32_t optimizer : optimizers_) {
    if (limits_.reached(uint32_t(optimizers_.size()))) return;
    const Object* type = type_of(graph_.object(optimizer));
    const auto same = std::count_if(optimizers_.begin(), optimizers_.end(),
                                    [&](uint32_t other) { return type_of(graph_.object(other)) == type; });
    if (same == 1) chains.call(optimizer, short_name_of_class(gil_, type));
  }
}

}  // namespace tensorscope::python::heap_inspector
