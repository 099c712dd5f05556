#include "model/category.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "dump_generated.h"

namespace tensorscope::model {

namespace {

using dump::TensorFlag;
using dump::TensorKnown;

bool has(uint32_t bits, TensorKnown bit) { return (bits & uint32_t(bit)) != 0; }
bool has(uint32_t bits, TensorFlag bit) { return (bits & uint32_t(bit)) != 0; }

// Whether a Python stack passes through a file whose path holds `part`; remembered by frame, since stacks share
// callers.
class StackSearch {
 public:
  StackSearch(const Dump& dump, std::string_view part) : dump_(dump), part_(part) {}

  bool operator()(uint32_t site) {
    if (site == 0 || site >= dump_.sites.size()) return false;
    std::vector<uint32_t> path;
    bool found = false;
    for (uint32_t id = dump_.sites[site].python; id != 0 && !found; id = dump_.python_frames[id].parent) {
      auto known = known_.find(id);
      if (known != known_.end()) {
        found = known->second;
        break;
      }
      path.push_back(id);
      const PythonFrame& frame = dump_.python_frames[id];
      const std::string& file = dump_.codes[frame.code].file;
      found = file.find(part_) != std::string::npos;
      if (!found && file.find("/torch/") == std::string::npos) break;
    }
    for (uint32_t id : path) known_[id] = found;
    return found;
  }

 private:
  const Dump& dump_;
  std::string_view part_;
  std::unordered_map<uint32_t, bool> known_;
};

}  // namespace

const char* text(Category category) {
  switch (category) {
    case Category::parameter:
      return "parameter";
    case Category::gradient:
      return "gradient";
    case Category::optimizer_state:
      return "optimizer state";
    case Category::unknown:
      break;
  }
  return "unknown";
}

std::optional<Category> category_named(std::string_view name) {
  std::string wanted(name);
  for (char& c : wanted) c = c == '-' || c == '_' ? ' ' : c;
  for (Category category : {Category::unknown, Category::parameter, Category::gradient, Category::optimizer_state}) {
    if (wanted == text(category)) return category;
  }
  return std::nullopt;
}

std::vector<Category> categories(const Dump& dump) {
  std::unordered_set<uint64_t> gradients;
  for (const Tensor& tensor : dump.tensors) {
    if (has(tensor.known, TensorKnown::grad) && tensor.grad != 0) gradients.insert(tensor.grad);
  }
  StackSearch in_optimizer(dump, "/torch/optim/");
  StackSearch in_module(dump, "/torch/nn/");

  std::vector<Category> result(dump.tensors.size(), Category::unknown);
  for (size_t i = 0; i < result.size(); ++i) {
    const Tensor& tensor = dump.tensors[i];
    bool trained = has(tensor.known, TensorKnown::leaf) && has(tensor.flags, TensorFlag::leaf) &&
                   has(tensor.known, TensorKnown::requires_grad) && has(tensor.flags, TensorFlag::requires_grad);
    if (gradients.contains(tensor.address)) {
      result[i] = Category::gradient;
    } else if (trained && (tensor.grad != 0 || in_module(tensor.site))) {
      result[i] = Category::parameter;
    } else if (!trained && in_optimizer(tensor.site)) {
      result[i] = Category::optimizer_state;
    }
  }
  // Aliases of one storage are one thing: a detached view of a parameter is that parameter's memory.
  for (const Storage& storage : dump.storages) {
    Category best = Category::unknown;
    for (uint32_t tensor : storage.tensors) {
      if (best == Category::unknown || result[tensor] == Category::parameter) best = result[tensor];
    }
    for (uint32_t tensor : storage.tensors) {
      if (result[tensor] == Category::unknown) result[tensor] = best;
    }
  }
  return result;
}

}  // namespace tensorscope::model
