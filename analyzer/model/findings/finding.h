// Something that is known to keep memory for longer than it should, with the evidence for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/growth.h"

namespace tensorscope::model {

enum class LeakKind : uint8_t {
  accumulated_graph,   // a loss that is kept or summed up keeps every step's saved tensors
  state_not_detached,  // the graph of a variable goes back through all steps
  stray_leaf,          // gathers gradient, but no optimizer uses it
  two_dtypes,          // one parameter, kept in two dtypes
  small_view,          // keeps a storage of which it uses little
  reference_cycle,     // garbage that holds itself
  graph_cycle,         // through the autograd graph, where Python's collector does not look
  traceback,           // an exception's frames
  module_cache,        // a container of a module or class that only grows
  container,           // any other container that only grows
  cpp_only,            // held by C++ alone, and grows
  gone_parameters,     // an optimizer keeps parameters that are in no module any more
  larger_tensor,       // one tensor whose storage grows
  graph_nodes,         // nodes without saved tensors
  process_memory       // memory of the process that is in no tensor
};
const char* name(LeakKind kind);   // "accumulated-graph": for programs
const char* title(LeakKind kind);  // "saved graph kept by an accumulated loss": for people

// One piece of evidence: a sentence, or numbers, one a dump or one alone.
struct Fact {
  std::string what;
  std::vector<uint64_t> values{};
  bool bytes = false;  // the unit of `values`; else things that are counted
};

// Memory that was made at one line.
struct MadeAt {
  uint32_t site = 0;  // one of the line's, in the last dump
  uint64_t bytes = 0;
};

struct LeakFinding {
  LeakKind kind = LeakKind::container;
  std::string subject;  // what keeps it: "train.py: losses[0..95]", "model.scale"
  std::string look_at;  // one sentence
  std::vector<Fact> evidence;
  const char* counts = "tensors";  // what growth.count counts
  Growth growth;                   // of what is kept, one value a dump; empty: this finding is not about growth
  uint64_t bytes = 0;              // kept now by nothing else, where that is known
  uint32_t site = 0;               // of the last dump: where it is made, 0: at no one place
  std::vector<uint32_t> tensors;   // of the last dump: what this explains
  std::vector<uint32_t> shared;    // likewise, by number: what something else keeps, too
  std::vector<MadeAt> memory;      // where these tensors' memory was made, where that is not `site` alone
};

}  // namespace tensorscope::model
