// SPDX-License-Identifier: Apache-2.0
// What keeps each tensor of a dump alive, in words, the closest first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dump/dump.h"
#include "ownership/tensor_links.h"
#include "symbols/frame_facts.h"

namespace tensorscope::analyzer {

struct Holder {
  enum class Kind : uint8_t {
    python,    // a chain from a root in Python
    saved,     // a node's slot: "saved by GeluBackward0.self <- AddBackward0 <- ... (12 nodes) <- train.py: total_loss"
    gradient,  // "gradient of model.fc1.weight"
    view,      // "base of the view #1044 (train.py: part)"
    storage,   // "same storage as #771 (model.fc1.weight)"
    accumulator,  // a leaf that only its AccumulateGrad keeps
    cycle,        // garbage: "unreachable cycle of Trainer, dict"
    traceback,    // "traceback of ValueError in Block.forward: h"
    part,         // "values of #12 (grads[0])": of a sparse tensor or a wrapper
    cpp,          // "C++ only"
    unknown       // "not known: ...": what may hold it was not looked through, or not in time
  } kind = Kind::cpp;
  std::string text;         // one line for a person
  std::string brief;        // the same without the middle of a chain, for putting many together
  std::string root;         // what to group by: "train.py: losses", "model", "autograd graph", "C++ only"
  uint32_t node = kNone;    // saved, accumulator: number in the graph
  uint32_t tensor = kNone;  // gradient, view, storage: the other tensor
};
// "python", "saved": as docs/json.md lists them. "" for a number that is no kind.
constexpr const char* text(Holder::Kind kind) {
  switch (kind) {
    case Holder::Kind::python:
      return "python";
    case Holder::Kind::saved:
      return "saved";
    case Holder::Kind::gradient:
      return "gradient";
    case Holder::Kind::view:
      return "view";
    case Holder::Kind::storage:
      return "storage";
    case Holder::Kind::accumulator:
      return "accumulator";
    case Holder::Kind::cycle:
      return "cycle";
    case Holder::Kind::traceback:
      return "traceback";
    case Holder::Kind::part:
      return "part";
    case Holder::Kind::cpp:
      return "cpp";
    case Holder::Kind::unknown:
      return "unknown";
  }
  return "";
}

struct TensorHolders {
  std::vector<Holder> first;  // the first ones; at least one for every tensor of a dump that has phase 2
  uint32_t count = 0;         // all there are
};

// The root of what was not looked up: Holder::text says why, Holder::brief does not.
inline constexpr char kNotLookedUp[] = "not known";
inline bool is_not_looked_up(const Holder& holder) { return holder.root == kNotLookedUp; }

// By tensor. `names` are those of tensor_names(). Linear in tensors, references and graph.
std::vector<TensorHolders> tensor_holders(const Dump& dump, const FrameFacts& facts, const TensorLinks& links,
                                          const std::vector<std::vector<std::string>>& names);

}  // namespace tensorscope::analyzer
