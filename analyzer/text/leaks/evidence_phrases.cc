// SPDX-License-Identifier: Apache-2.0
// Labels of the evidence of `leaks`, and what to do about parts of the process's memory.
#include "support/enum_words.h"
#include "text/leaks/phrases.h"

namespace tensorscope::text {

namespace {

using analyzer::Fact;
using analyzer::FactKind;

constexpr analyzer::EnumWords<FactKind> kLabels[] = {
    {FactKind::retained, "retained size"},
    {FactKind::retained_tensors, "retained tensors"},
    {FactKind::holders, "different holders"},
    {FactKind::tensors_with_grad_fn, "tensors with a grad_fn"},
    {FactKind::reachable_nodes, "reachable graph nodes"},
    {FactKind::shared_graph, "size of the graph (reachable from elsewhere, too)"},
    {FactKind::saved_tensors_freed, "backward freed the saved tensors: tensor bytes unchanged"},
    {FactKind::live_nodes, "live graph nodes"},
    {FactKind::python_nodes, "nodes that Python objects refer to directly"},
    {FactKind::views, "views"},
    {FactKind::used_by_views, "bytes used by the views"},
    {FactKind::storages_of_views, "size of their storages"},
    {FactKind::rest_unused, "no other tensor uses the rest of these storages"},
    {FactKind::entries, "tensors in it"},
    {FactKind::every_interval_kept, "tensors made in every interval are still in it"},
    {FactKind::entries_that_left, "entries of the first dump that have left it"},
    {FactKind::unfinished_calls, "calls with such a variable"},
    {FactKind::calls_stay, "calls of the dumps before are still there in the last one"},
    {FactKind::same_names, "different holders of this name"},
    {FactKind::entries_with_grad_fn, "of these with a grad_fn"},
    {FactKind::graphs_of_entries, "retained by their graphs"},
    {FactKind::cpp_tensors, "tensors that no Python object, graph node, gradient or view refers to"},
    {FactKind::cpp_blocks, "blocks in no tensor"},
    {FactKind::optimizer_only_parameters, "parameters that only the optimizer refers to"},
    {FactKind::optimizer_state, "tensors of their optimizer state"},
    {FactKind::same_tensor, "the same tensor in every dump"},
    {FactKind::made_anew, "allocated anew and larger each time"},
    {FactKind::storage_size, "size of its storage"},
    {FactKind::stray_leaves, "leaves with a gradient that are in no param_groups"},
    {FactKind::optimized_tensors, "tensors in an optimizer's param_groups"},
    {FactKind::gradient_changes, "in-place changes of the gradient"},
    {FactKind::copies, "size of the copies"},
    {FactKind::cast_copies, "copies made by ToCopyBackward0"},
    {FactKind::path_copies, "copies with the same path in another place"},
    {FactKind::ordered_copies, "copies in a list with the parameters' shapes and order"},
    {FactKind::cycle_tensors, "tensors reachable only from such cycles"},
    {FactKind::cycle_nodes, "graph nodes reachable only from such cycles"},
    {FactKind::resident, "resident memory of the process"},
    {FactKind::cpu_tensors, "tensors in CPU memory"},
    {FactKind::malloc_in_use, "allocated with malloc, not by torch"},
    {FactKind::malloc_free, "free memory kept by malloc"},
    {FactKind::python_in_use, "Python's heap: small objects (up to 512 bytes each)"},
    {FactKind::python_free, "Python's heap: free memory kept by Python"},
    {FactKind::other_private, "other private memory (thread stacks, mappings)"},
    {FactKind::untouched, "allocated, but not touched yet, or swapped out"},
    {FactKind::mapped_files, "mapped files and libraries"},
    {FactKind::copied_pages, "copied pages of mapped files"},
    {FactKind::shared_memory, "shared memory"},
    {FactKind::profiler, "tensorscope itself"},
    {FactKind::device_caches, "caches of the device allocators"},
    {FactKind::children_private, "private memory of the child processes"},
    {FactKind::children_resident, "resident memory of the child processes"},
    {FactKind::file, "of which"},
    {FactKind::other_files, "of which other files"},
    {FactKind::children, "child processes"},
    {FactKind::outside_growth, "memory outside tensors, the parts that grew"},
    {FactKind::container_bytes, "bytes of Python objects in"},
    {FactKind::container_entries, "entries of"},
    {FactKind::in_no_container, "growth that no container of Python explains"},
    {FactKind::of_ended_steps, "compared at the ends of steps: without what the step that ran at each dump had made"},
    {FactKind::live_threads, "threads that live"},
    {FactKind::in_step, "extension objects in"},
    {FactKind::malloc_unknown, "malloc statistics are not in every dump"},
    {FactKind::python_unknown, "the size of Python's heap is not in every dump"},
    {FactKind::children_unknown, "private memory of the child processes was not measured in every dump"},
    {FactKind::since_beginning, "as many entries a step came before its first dump, since the process began"},
};
static_assert(has_each(kLabels, FactKind::since_beginning));

const char* label(FactKind kind) { return kLabels[size_t(kind)].words; }

}  // namespace

std::string fact_phrase(const Fact& fact) {
  const std::string text = label(fact.kind);
  switch (fact.kind) {
    case FactKind::tensors_with_grad_fn:
      return text + " (" + fact.name + ")";
    case FactKind::gradient_changes:
      return text + " of " + fact.name + " (accumulations after the first; zero_(), clipping and copies count, too)";
    case FactKind::file:
    case FactKind::container_bytes:
    case FactKind::container_entries:
    case FactKind::in_step:
      return text + " " + fact.name;
    default:
      return text;
  }
}

std::string process_advice(const analyzer::Leaks& leaks) {
  const analyzer::ProcessGrowth& growth = leaks.process;
  // A little of that is everywhere, and beside a leak it is no answer.
  const bool kept_free = growth.grew_most == FactKind::malloc_free || growth.grew_most == FactKind::python_free ||
                         growth.grew_most == FactKind::profiler;
  if (kept_free && (!growth.told || leaks.found())) return "";
  if (growth.grew_most) return process_advice(*growth.grew_most);
  return growth.told ? "malloc's statistics are not known, so that it is not known how much of this was allocated" : "";
}

const char* process_advice(FactKind part) {
  switch (part) {
    case FactKind::cpu_tensors:
      return "tensors: look at the allocation sites that grew";
    case FactKind::malloc_in_use:
      return "look at Python objects, numpy arrays, strings and C++ libraries: malloc allocated this, not torch";
    case FactKind::malloc_free:
      return "malloc_trim(0) returns free memory to the system; MALLOC_ARENA_MAX=2 reduces the number of arenas; "
             "jemalloc and tcmalloc keep less";
    case FactKind::python_in_use:
      return "look for numbers, strings, tuples, dictionaries and instances that something keeps: tracemalloc shows "
             "the "
             "lines that created them";
    case FactKind::python_free:
      return "Python returns an arena to the system only when its last object is freed: create that many small objects "
             "in "
             "a child process, or keep the data in arrays";
    case FactKind::other_private:
      return "look at thread stacks, memory pools of libraries and anonymous mmap: this is neither malloc nor Python's "
             "heap";
    case FactKind::untouched:
      return "no leak: memory that was allocated before is used for the first time, as a buffer that is being filled; "
             "this ends when all of it is touched";
    case FactKind::mapped_files:
      return "no leak: pages of mapped files (libraries, data sets read through mmap), which the system reclaims when "
             "memory is short";
    case FactKind::copied_pages:
      return "map the file shared or read-only, or write to less of it: in a private mapping (mmap ACCESS_COPY, "
             "np.memmap "
             "mode 'c', torch.from_file) each page that is written to is copied";
    case FactKind::shared_memory:
      return "look for batches of workers and files in /dev/shm that are not freed";
    case FactKind::profiler:
      return "TENSORSCOPE_MAX_STACK_MEMORY limits tensorscope's own tables";
    case FactKind::device_caches:
      return "torch.cuda.empty_cache() returns it to the driver";
    case FactKind::children_private:
      return "keep large data in arrays or tensors instead of lists of Python objects, or start fewer workers: each "
             "worker "
             "copies the pages it writes to, and changing a reference count is a write";
    case FactKind::children_resident:
      return "start fewer child processes: pages that they share are counted once for each";
    default:
      return "";
  }
}

}  // namespace tensorscope::text
