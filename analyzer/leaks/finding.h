// SPDX-License-Identifier: Apache-2.0
// A finding of `leaks`: memory that is kept longer than it should be, as codes, names of the program, and numbers.
// The sentences are in text/leaks/phrases.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dump/references.h"
#include "leaks/growth.h"
#include "symbols/places.h"

namespace tensorscope::analyzer {

enum class LeakKind : uint8_t {
  accumulated_graph,   // a loss that is kept or summed up keeps every step's saved tensors
  state_not_detached,  // the graph of a variable reaches back through all steps
  stray_leaf,          // accumulates gradient, but no optimizer uses it
  autocast_cache,      // casts of parameters that autocast keeps until its context ends
  two_dtypes,          // one parameter, kept in two dtypes
  small_view,          // keeps a storage of which it uses little
  reference_cycle,     // garbage that refers to itself
  graph_cycle,         // through the autograd graph, which Python's garbage collector does not see
  traceback,           // an exception's frames
  module_cache,        // a container of a module or class that only grows
  container,           // any other container that only grows
  unfinished_calls,    // local variables of more and more calls that do not end
  cpp_only,            // held by C++ alone, and grows
  gone_parameters,     // an optimizer keeps parameters that are in no module any more
  larger_tensor,       // one tensor whose storage grows
  graph_nodes,         // nodes without saved tensors
  process_memory,      // memory of the process that is in no tensor
  child_processes      // private memory of its children
};
const char* name(LeakKind kind);  // "accumulated-graph": for programs
// Whether nothing but growth tells such a finding from what a healthy program keeps.
bool rests_on_growth(LeakKind kind);

// What one piece of evidence is about. Bytes or a number of things: in_bytes().
enum class FactKind : uint8_t {
  retained,              // retained size
  retained_tensors,      // tensors that go away with what holds them
  holders,               // different objects that hold some, where a finding joins several
  tensors_with_grad_fn,  // `name`: the class of the grad_fn
  reachable_nodes,       // graph nodes
  shared_graph,          // bytes of a graph that is reachable from elsewhere, too
  saved_tensors_freed,   // no value: backward freed them, the nodes are still there
  live_nodes,
  python_nodes,  // nodes that Python refers to without a tensor
  views,
  used_by_views,
  storages_of_views,
  rest_unused,          // no value: no other tensor uses the rest of these storages
  entries,              // tensors in a container
  every_interval_kept,  // no value: some entries of every interval are still there
  entries_that_left,    // of the first dump's entries
  unfinished_calls,     // calls that have the variable: threads, generators
  calls_stay,           // no value: nearly all calls of each dump are in the last one
  same_names,           // running calls, or objects, that have a holder of this name
  entries_with_grad_fn,
  graphs_of_entries,
  cpp_tensors,
  cpp_blocks,
  optimizer_only_parameters,
  optimizer_state,
  same_tensor,  // no value: one tensor is in every dump
  made_anew,    // no value: a larger one replaces it each time
  storage_size,
  stray_leaves,
  optimized_tensors,
  gradient_changes,  // `name`: whose gradient was changed in place
  copies,
  cast_copies,     // made by ToCopyBackward0
  path_copies,     // of the same path in two places
  ordered_copies,  // one for each parameter, in the same order
  cycle_tensors,
  cycle_nodes,
  // Parts of the memory of a process.
  resident,
  cpu_tensors,
  malloc_in_use,
  malloc_free,
  python_in_use,
  python_free,
  other_private,
  untouched,  // asked for, and not in memory yet: it becomes less where resident memory grows
  mapped_files,
  copied_pages,
  shared_memory,
  profiler,
  device_caches,
  children_private,
  children_resident,
  file,  // of mapped_files or copied_pages; `name`: its path
  other_files,
  children,
  // Of memory outside tensors: what Python's containers have of it.
  outside_growth,     // all parts that grew
  container_bytes,    // `name`: the container
  container_entries,  // likewise
  in_no_container,    // what no container's growth explains
  of_ended_steps,     // no value: growth is that of what was made before the last step ended
  live_threads,       // that the profiler has seen
  in_step,            // objects of C++ in the container `name`, which become more whenever such memory is made
  malloc_unknown,     // no value: not in every dump
  python_unknown,     // likewise
  children_unknown,   // likewise
  since_beginning,    // no value: as many entries a step came since its process began
};
bool in_bytes(FactKind kind);

// One piece of evidence: a number a dump, or one number, or none where the kind says it all.
struct Fact {
  FactKind kind = FactKind::retained;
  std::vector<uint64_t> values{};
  std::string name{};
};

enum class Advice : uint8_t {
  copy_view,
  keep_value,  // of tensors in a container, without their graphs
  add_value,   // to a sum, without its graph
  detach_state,
  drop_nodes,
  find_node_holder,
  holder_not_seen,  // of nodes, where not all of Python was looked through
  bound_cache,
  bound_container,
  bound_backlog,  // entries leave, and more come
  unregister_handlers,
  end_threads,
  close_generators,
  bound_cpp,
  forget_modules,  // that stay in sys.modules
  release_from_c,  // more and more objects that only C code holds
  clear_autocast_cache,
  clear_cell_outputs,
  break_cycle,
  cycle_at_exit,
  drop_traceback,
  save_for_backward,
  detach_in_hook,
  remove_node_hook,
  no_create_graph,
  break_graph_cycle,
  remove_from_optimizer,
  bound_storage,
  bound_earlier_data,
  optimize_or_freeze,
  cast_on_use,
  process_part,         // LeakFinding::process_part says which
  stop_profiler,        // of torch, which is on
  look_in_children,     // that have no dumps among these
  bound_cpp_objects,    // a container of objects of C++ that grows in step
  empty_opaque_objects  // of which nobody knows what memory they have
};

// Memory that was made at one line.
struct CreationSite {
  uint32_t site = 0;  // one of the line's, in the last dump
  uint64_t bytes = 0;
};

// A parameter and its copy, by name and dtype.
struct DtypePair {
  std::string parameter, parameter_dtype, copy, copy_dtype;
};

// One link of a cycle through the autograd graph.
struct CycleLink {
  enum class Kind : uint8_t { begin, grad_fn, gradient, base, part, next, saved, python, left_out } kind = Kind::begin;
  std::string name{};    // of the node's class, or of the attribute of its Python object
  std::string tensor{};  // "#12 float32 [4]", "" where the link leads to a node
  size_t links = 0;      // left_out: how many
};

// Where a finding is that dumps of child processes show.
struct OfChildren {
  std::vector<uint32_t> processes;
  Place place;         // where it is made; without a name where that is not known
  std::string source;  // the line
  std::string first;   // path of the first dump of the first of them
};

// Where a container is: what a reference or a row of a container says of it, in the last dump.
struct HolderPlace {
  uint8_t root = 0;
  std::string scope, text;  // "history[3].state"
  Beginning begin{};
  auto operator<=>(const HolderPlace&) const = default;
};
// Whether one is the other, or leads into it or out of it: "history" and "history[3].state".
bool same_container(const HolderPlace& a, const HolderPlace& b);

struct LeakFinding {
  LeakKind kind = LeakKind::container;
  std::vector<std::string> holders;  // names, the largest first: "train.py: losses[0..95]", "model.scale"
  std::vector<HolderPlace> places;   // where these are, as far as they are containers or variables
  std::vector<DtypePair> pairs;      // two_dtypes
  std::vector<CycleLink> cycle;      // graph_cycle
  uint32_t closed_at = 0;            // likewise: where the tensor was made that closes the cycle, a site; 0: not known
  Advice advice = Advice::bound_container;
  bool scalars = false;                  // of one element each: .item() is possible
  uint64_t graph_bytes = 0;              // bound_container, bound_cache: what the entries' graphs retain, if it is much
  std::optional<FactKind> process_part;  // of process memory, the part that grew most
  std::vector<Fact> evidence;
  enum class Counts : uint8_t {
    tensors,
    nodes,
    parameters,
    entries
  } counts = Counts::tensors;     // what growth.count counts
  Growth growth;                  // of what is kept, one value a dump; empty: this finding is not about growth
  uint64_t bytes = 0;             // retained size now
  std::string also_held_by;       // what keeps many of these tensors, too: "": nothing known does
  uint64_t frees_alone = 0;       // likewise: retained size without what the others keep
  uint32_t site = 0;              // of the last dump: where it is made, 0: at no one place
  std::vector<uint32_t> tensors;  // of the last dump: what this explains
  std::vector<uint32_t> shared;   // likewise, by number: what something else keeps, too
  std::optional<OfChildren> of_children{};  // it is in other processes: none of the numbers of the last dump above
  std::vector<CreationSite> memory;         // where these tensors' memory was made, where that is not `site` alone
};

// What grows and is no finding.
struct Remark {
  enum class Reason : uint8_t {
    slows,                // by less and less: a later dump shows whether it ends
    follows_parameters,   // kept for parameters that are trained
    seldom_larger,        // a tensor that is replaced by a larger one, and not in every interval
    one_interval,         // outside of tensors, in the one interval of two dumps
    waits_for_collector,  // unreachable cycles: plain objects, or what a program that ends leaves behind
    does_not_grow         // a leaf that is in no optimizer
  } reason = Reason::slows;
  LeakFinding what;
};
const char* name(Remark::Reason reason);  // "slows": for programs

}  // namespace tensorscope::analyzer
