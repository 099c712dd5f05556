// SPDX-License-Identifier: Apache-2.0
#include "leaks/finding.h"

#include "leaks/forms.h"

namespace tensorscope::analyzer {

const char* name(LeakKind kind) {
  switch (kind) {
    case LeakKind::accumulated_graph:
      return "accumulated-graph";
    case LeakKind::state_not_detached:
      return "state-not-detached";
    case LeakKind::stray_leaf:
      return "stray-leaf";
    case LeakKind::autocast_cache:
      return "autocast-cache";
    case LeakKind::two_dtypes:
      return "two-dtypes";
    case LeakKind::small_view:
      return "small-view";
    case LeakKind::reference_cycle:
      return "reference-cycle";
    case LeakKind::graph_cycle:
      return "graph-cycle";
    case LeakKind::traceback:
      return "traceback";
    case LeakKind::module_cache:
      return "module-cache";
    case LeakKind::container:
      return "container";
    case LeakKind::unfinished_calls:
      return "unfinished-calls";
    case LeakKind::cpp_only:
      return "cpp-only";
    case LeakKind::gone_parameters:
      return "gone-parameters";
    case LeakKind::larger_tensor:
      return "larger-tensor";
    case LeakKind::graph_nodes:
      return "graph-nodes";
    case LeakKind::process_memory:
      return "process-memory";
    case LeakKind::child_processes:
      return "child-processes";
  }
  return "";
}

const char* name(Remark::Reason reason) {
  switch (reason) {
    case Remark::Reason::slows:
      return "slows";
    case Remark::Reason::follows_parameters:
      return "follows-parameters";
    case Remark::Reason::seldom_larger:
      return "seldom-larger";
    case Remark::Reason::one_interval:
      return "one-interval";
    case Remark::Reason::waits_for_collector:
      return "waits-for-collector";
    case Remark::Reason::does_not_grow:
      return "does-not-grow";
  }
  return "";
}

bool rests_on_growth(LeakKind kind) {
  switch (kind) {
    case LeakKind::module_cache:
    case LeakKind::container:
    case LeakKind::unfinished_calls:
    case LeakKind::cpp_only:
    case LeakKind::larger_tensor:
    case LeakKind::graph_nodes:
    case LeakKind::process_memory:
    case LeakKind::child_processes:
      return true;
    default:
      return false;
  }
}

bool same_container(const HolderPlace& a, const HolderPlace& b) {
  return a.root == b.root && a.scope == b.scope && a.begin == b.begin &&
         (leads_from(a.text, b.text) || leads_from(b.text, a.text));
}

bool in_bytes(FactKind kind) {
  switch (kind) {
    case FactKind::retained:
    case FactKind::shared_graph:
    case FactKind::used_by_views:
    case FactKind::storages_of_views:
    case FactKind::graphs_of_entries:
    case FactKind::storage_size:
    case FactKind::copies:
    case FactKind::outside_growth:
    case FactKind::container_bytes:
    case FactKind::in_no_container:
      return true;
    default:
      return kind >= FactKind::resident && kind <= FactKind::other_files;
  }
}

}  // namespace tensorscope::analyzer
