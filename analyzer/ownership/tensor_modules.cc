// SPDX-License-Identifier: Apache-2.0
#include "ownership/tensor_modules.h"

#include <algorithm>

#include "dump_generated.h"

namespace tensorscope::analyzer {

using format::ReferenceRole;

class TensorModules::Finder {
 public:
  Finder(const Dump& dump, const FrameFacts& facts, const TensorLinks& links, TensorModules& out)
      : dump_(dump), facts_(facts), links_(links), out_(out), of_call_(dump.python_frames.size(), kNone) {}

  void find() {
    const uint32_t tensors = uint32_t(dump_.tensors.size());
    std::vector<uint32_t> in_python(tensors);
    for (uint32_t i = 0; i < tensors; i++) in_python[i] = module_in_python(i);
    find_owners(in_python);
    out_.of_ = in_python;
    for (uint32_t i = 0; i < tensors; i++) {
      uint32_t& module = out_.of_[i];
      if (module != 0) continue;
      const uint32_t owner = links_.gradient_of(i);
      module = owner != kNone ? in_python[owner] : module_of_state(i);
      if (module == 0) module = module_by_creation(i);
    }
  }

 private:
  // Paths of parameters and buffers end in the module's own name for them.
  uint32_t module_in_python(uint32_t tensor) {
    for (const Reference& reference : dump_.references.of(tensor)) {
      const ReferenceRole role = ReferenceRole(reference.role);
      if (role == ReferenceRole::parameter || role == ReferenceRole::buffer) return module_of_path(reference.text);
    }
    return 0;
  }
  uint32_t module_of_path(std::string_view path) {
    const size_t dot = path.rfind('.');
    return dot == std::string_view::npos ? 0 : out_.add(path.substr(0, dot));
  }

  // Which module a parameter that an optimizer's state names is of: with or without the variable that holds the model.
  void find_owners(const std::vector<uint32_t>& in_python) {
    const auto has_role = [](ReferenceRole role) {
      return [role](const Reference& reference) { return ReferenceRole(reference.role) == role; };
    };
    if (std::ranges::none_of(dump_.references.rows, has_role(ReferenceRole::optimizer_state))) return;
    for (uint32_t i = 0; i < in_python.size(); i++) {
      if (in_python[i] == 0) continue;
      for (const Reference& reference : dump_.references.of(i)) {
        const std::string_view path = reference.text;
        if (ReferenceRole(reference.role) != ReferenceRole::parameter || path.find('.') == path.npos) continue;
        const uint32_t module = module_of_path(path);
        owners_[path] = module;
        const auto [found, fresh] = owners_.try_emplace(path.substr(path.find('.') + 1), module);
        if (!fresh && found->second != module) found->second = 0;
      }
    }
  }

  // "Adam.state['fc1.weight'].exp_avg" belongs to the module of the parameter that is called so.
  uint32_t module_of_state(uint32_t tensor) const {
    for (const Reference& reference : dump_.references.of(tensor)) {
      if (ReferenceRole(reference.role) != ReferenceRole::optimizer_state) continue;
      const std::string_view text = reference.text;
      const size_t begin = text.find("['");
      const size_t end = text.find("']", begin == text.npos ? 0 : begin);
      if (begin == text.npos || end == text.npos) continue;
      const auto found = owners_.find(text.substr(begin + 2, end - begin - 2));
      if (found != owners_.end()) return found->second;
    }
    return 0;
  }

  uint32_t module_by_creation(uint32_t tensor) {
    if (const uint32_t creator = links_.creator(tensor); creator != kNoNode) {
      const uint32_t seen = dump_.graph.nodes[creator].seen;
      const uint32_t module = seen == kNone ? 0 : module_of_site(dump_.nodes[seen].site);
      if (module != 0) return module;
    }
    if (const uint32_t module = module_of_site(dump_.tensors[tensor].site); module != 0) return module;
    const uint32_t node = links_.made_in_backward_of(tensor);
    return node == kNone ? 0 : module_of_site(dump_.nodes[node].site);
  }

  uint32_t module_of_site(uint32_t site) {
    const uint32_t call = facts_.call(site);
    if (call == 0) return 0;
    if (of_call_[call] == kNone) of_call_[call] = out_.add(facts_.path(call));
    return of_call_[call];
  }

  const Dump& dump_;
  const FrameFacts& facts_;
  const TensorLinks& links_;
  TensorModules& out_;
  std::vector<uint32_t> of_call_;                          // by Python frame; kNone: not asked yet
  std::unordered_map<std::string_view, uint32_t> owners_;  // parameter -> module; 0 where two models have one so named
};

TensorModules::TensorModules(const Dump& dump, const FrameFacts& facts, const TensorLinks& links) {
  add("");
  Finder(dump, facts, links, *this).find();
}

uint32_t TensorModules::add(std::string_view path) {
  const auto found = numbers_.find(path);
  if (found != numbers_.end()) return found->second;
  const uint32_t number = uint32_t(paths_.size());
  numbers_.emplace(paths_.emplace_back(path), number);
  return number;
}

}  // namespace tensorscope::analyzer
