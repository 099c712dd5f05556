// Labels of the evidence of `leaks`, and what to do about parts of the process's memory.
#include "text/leaks_words.h"

namespace tensorscope::render {

namespace {

using model::Fact;
using model::FactKind;

const char* label(FactKind kind) {
  switch (kind) {
    case FactKind::retained:
      return "retained size";
    case FactKind::retained_tensors:
      return "retained tensors";
    case FactKind::holders:
      return "different holders";
    case FactKind::tensors_with_grad_fn:
      return "tensors with a grad_fn";
    case FactKind::reachable_nodes:
      return "reachable graph nodes";
    case FactKind::shared_graph:
      return "size of the graph (reachable from elsewhere, too)";
    case FactKind::saved_tensors_freed:
      return "backward freed the saved tensors: tensor bytes unchanged";
    case FactKind::live_nodes:
      return "live graph nodes";
    case FactKind::python_nodes:
      return "nodes that Python objects refer to directly";
    case FactKind::views:
      return "views";
    case FactKind::used_by_views:
      return "bytes used by the views";
    case FactKind::storages_of_views:
      return "size of their storages";
    case FactKind::rest_unused:
      return "no other tensor uses the rest of these storages";
    case FactKind::entries:
      return "tensors in it";
    case FactKind::every_interval_kept:
      return "tensors made in every interval are still in it";
    case FactKind::entries_with_grad_fn:
      return "of these with a grad_fn";
    case FactKind::graphs_of_entries:
      return "retained by their graphs";
    case FactKind::cpp_tensors:
      return "tensors that no Python object, graph node, gradient or view refers to";
    case FactKind::cpp_blocks:
      return "blocks in no tensor";
    case FactKind::optimizer_only_parameters:
      return "parameters that only the optimizer refers to";
    case FactKind::optimizer_state:
      return "tensors of their optimizer state";
    case FactKind::same_tensor:
      return "the same tensor in every dump";
    case FactKind::storage_size:
      return "size of its storage";
    case FactKind::stray_leaves:
      return "leaves with a gradient that are in no param_groups";
    case FactKind::optimized_tensors:
      return "tensors in an optimizer's param_groups";
    case FactKind::gradient_changes:
      return "in-place changes of the gradient";
    case FactKind::copies:
      return "size of the copies";
    case FactKind::cast_copies:
      return "copies made by ToCopyBackward0";
    case FactKind::path_copies:
      return "copies with the same path in another place";
    case FactKind::ordered_copies:
      return "copies in a list with the parameters' shapes and order";
    case FactKind::cycle_tensors:
      return "tensors reachable only from such cycles";
    case FactKind::cycle_nodes:
      return "graph nodes reachable only from such cycles";
    case FactKind::resident:
      return "resident memory of the process";
    case FactKind::cpu_tensors:
      return "tensors in CPU memory";
    case FactKind::malloc_in_use:
      return "allocated with malloc, not by torch";
    case FactKind::malloc_free:
      return "free memory kept by malloc";
    case FactKind::python_in_use:
      return "Python's heap: small objects (up to 512 bytes each)";
    case FactKind::python_free:
      return "Python's heap: free memory kept by Python";
    case FactKind::other_private:
      return "other private memory (thread stacks, mappings)";
    case FactKind::mapped_files:
      return "mapped files and libraries";
    case FactKind::copied_pages:
      return "copied pages of mapped files";
    case FactKind::shared_memory:
      return "shared memory";
    case FactKind::profiler:
      return "tensorscope itself";
    case FactKind::device_caches:
      return "caches of the device allocators";
    case FactKind::children_private:
      return "private memory of the child processes";
    case FactKind::children_resident:
      return "resident memory of the child processes";
    case FactKind::file:
      return "of which";
    case FactKind::other_files:
      return "of which other files";
    case FactKind::children:
      return "child processes";
    case FactKind::malloc_unknown:
      return "malloc statistics are not in every dump";
    case FactKind::python_unknown:
      return "the size of Python's heap is not in every dump";
  }
  return "";
}

}  // namespace

std::string fact_words(const Fact& fact) {
  const std::string text = label(fact.kind);
  switch (fact.kind) {
    case FactKind::tensors_with_grad_fn:
      return text + " (" + fact.name + ")";
    case FactKind::gradient_changes:
      return text + " of " + fact.name + " (accumulations after the first; zero_(), clipping and copies count, too)";
    case FactKind::file:
      return text + " " + fact.name;
    default:
      return text;
  }
}

std::string process_advice(const model::ProcessGrowth& growth) {
  return growth.grew_most ? process_advice(*growth.grew_most) : "";
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
    case FactKind::mapped_files:
      return "pages of mapped files (libraries, data sets read through mmap): the system reclaims them when memory is "
             "short";
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

}  // namespace tensorscope::render
