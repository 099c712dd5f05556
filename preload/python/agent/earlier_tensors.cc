#include "python/agent/earlier_tensors.h"

#include "live/earlier_tensors.h"
#include "python/agent/collection_paused.h"
#include "python/agent/look_limits.h"
#include "python/agent/main_script.h"
#include "python/agent/object_graph.h"
#include "python/agent/tensor_objects.h"
#include "python/agent/type_fields.h"

namespace tensorscope::python::agent {

void find_earlier_tensors(const Gil& gil, Deadline deadline) {
  const KnownClasses classes = KnownClasses::find(gil);
  if (!classes.tensor) return;  // torch was never imported
  if (!check_type_fields(gil)) return live::earlier_tensors_incomplete("this interpreter's types have an unknown layout");
  const CollectionPaused paused(gil);
  LookLimits limits(deadline);
  Kinds kinds(gil, classes);
  ObjectGraph graph(gil, limits, &kinds);
  const char* detail = "";
  graph.read({module_globals(gil, "__main__"), gil->PyImport_GetModuleDict()}, detail);
  graph.tell_other_kinds();
  const TensorFields fields = TensorFields::by_shape(graph);
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.kind(i) != Kind::tensor) continue;
    if (const void* impl = fields.impl(graph.object(i))) live::add_earlier_tensor(impl);
  }
  if (limits.stop() == LookLimits::Stop::time) detail = "the time limit was reached (TENSORSCOPE_NAMES_GIL_MS)";
  if (limits.stop() == LookLimits::Stop::memory) detail = "the memory limit was reached (TENSORSCOPE_NAMES_MEMORY)";
  if (*detail != 0) live::earlier_tensors_incomplete(detail);
}

}  // namespace tensorscope::python::agent
