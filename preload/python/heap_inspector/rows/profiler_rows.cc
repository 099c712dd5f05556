// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/rows/profiler_rows.h"

#include <vector>

#include "python/heap_inspector/graph/type_fields.h"

namespace tensorscope::python::heap_inspector {

namespace {

bool is_true(const Gil& gil, Object* value) {
  return value && has_flag(value, type_flags::kLong) && !has_flag(value, type_flags::kHeapType) &&
         gil->PyLong_AsLongLong(value) != 0;
}

bool is_on(const Gil& gil, Attributes& attributes, const Object* profiler) {
  return is_true(gil, attributes.find(profiler, "entered")) &&
         attributes.find(profiler, "kineto_results") == gil->_Py_NoneStruct;
}

}  // namespace

void write_profiler_rows(const Gil& gil, const ObjectGraph& graph, Attributes& attributes, const ObjectPaths& paths,
                         Chains& chains, LookLimits& limits, References& out) {
  std::vector<uint32_t> on;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.kind(i) != Kind::profiler || limits.reached()) continue;
    if (!paths.reached(i) || !is_on(gil, attributes, graph.object(i))) continue;
    chains.want(i);
    on.push_back(i);
  }
  if (on.empty() || !chains.find_steps()) return;
  for (const uint32_t profiler : on) {
    const Chain chain = chains.of(profiler);
    if (!chains.ready() || out.strings.full()) return;
    out.profilers.emplace_back(out.strings.intern(chain.text), out.strings.intern(chain.scope), chain.root);
  }
}

}  // namespace tensorscope::python::heap_inspector
