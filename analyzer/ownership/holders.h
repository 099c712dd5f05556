// What each live tensor is called, why it is still alive, what it is for, and which module it belongs to: put together
// from Python's references, the autograd graph, gradient links, views and storages. Everything rests on a link, a slot
// or a holder, never on what a name looks like; what nothing tells stays "unknown".
//
// Built once a dump, in time linear to tensors, references and graph.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dump/dump.h"
#include "ownership/category.h"

namespace tensorscope::analyzer {

class NamesOfRun;

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
    cpp           // "C++ only"
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
  }
  return "";
}

class Holders {
 public:
  // `symbols` names native functions, where categories need them; null: they are not asked.
  // `names`: of a moment of a recording, what dumps of the same run say. Null: none was found.
  explicit Holders(const Dump& dump, Symbols* symbols = nullptr, const NamesOfRun* names = nullptr);

  // All names, best first: those that the program gave itself, parameter and buffer paths, optimizer state, gradients
  // ("model.fc1.weight.grad"), module outputs ("model.fc1.out[0]"), variables and containers ("train.py: losses[3]",
  // "h (local of Block.forward)"); for what has none of these saved slots ("model.fc1: AddmmBackward0.mat1"). Empty:
  // none known.
  const std::vector<std::string>& names(uint32_t tensor) const { return tensors_[tensor].names; }
  std::string name(uint32_t tensor) const;  // the best, "" if none
  // The first ones, closest first; at least one for every tensor of a dump that has phase 2.
  const std::vector<Holder>& holders(uint32_t tensor) const { return tensors_[tensor].holders; }
  uint32_t holder_count(uint32_t tensor) const { return tensors_[tensor].holder_count; }
  // The strongest that a tensor of the same storage shows: memory is for one thing.
  Category category(uint32_t tensor) const { return tensors_[tensor].category; }
  // Why this category: "in model.fc1's parameters", "saved by ReluBackward0.result", "shares the storage of #12
  // (model.fc1.weight), in model.fc1's parameters".
  const std::string& evidence(uint32_t tensor) const { return tensors_[tensor].evidence; }
  CategorySource category_source(uint32_t tensor) const { return tensors_[tensor].source; }
  // The nn.Module it belongs to: owner of a parameter, buffer, gradient or optimizer state; else the one whose forward
  // made it. "" where none.
  const std::string& module(uint32_t tensor) const { return tensors_[tensor].module; }
  // The tensor that says what a storage is: the one with the strongest category, of several the oldest named one.
  uint32_t speaker(uint32_t storage) const { return speakers_[storage]; }

 private:
  struct Entry {
    std::vector<std::string> names;
    std::vector<Holder> holders;
    uint32_t holder_count = 0;
    Category category = Category::unknown;
    CategorySource source = CategorySource::unknown;
    std::string evidence, module;
  };
  class Builder;
  std::vector<Entry> tensors_;
  std::vector<uint32_t> speakers_;  // by storage
};

// "train.py: losses[0]", "train.py: losses[1]", "train.py: losses[127]" make "train.py: losses[0..127]"; numbers that
// differ in more than one place, or in a dotted path, become '*'. Names of other forms come after a semicolon.
std::string merged_names(const std::vector<std::string>& names);
// The same, the form that has the most bytes first.
using WeighedName = std::pair<std::string, uint64_t>;
std::string merged_names(const std::vector<WeighedName>& names);
// How many forms there are among them, numbers apart.
size_t name_forms(const std::vector<std::string>& names);

}  // namespace tensorscope::analyzer
