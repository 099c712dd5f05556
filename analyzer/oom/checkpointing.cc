// SPDX-License-Identifier: Apache-2.0
#include "oom/checkpointing.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "dump_generated.h"
#include "leaks/retention.h"
#include "oom/module_inputs.h"
#include "support/dotted_path.h"
#include "symbols/frame_facts.h"

namespace tensorscope::analyzer::oom {

namespace {

// The part of two paths that both begin with, in whole names.
std::string common(const std::string& a, const std::string& b) {
  size_t end = 0;
  for (size_t i = 0;; ++i) {
    const bool end_a = i == a.size() || a[i] == '.', end_b = i == b.size() || b[i] == '.';
    if (end_a && end_b) end = i;
    if (i == a.size() || i == b.size() || a[i] != b[i]) break;
  }
  return a.substr(0, end);
}

class Savers {
 public:
  explicit Savers(const View& view) : view_(view), by_tensor_(view.dump.tensors.size()) {
    const Graph& graph = view.dump.graph;
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
      for (const SavedSlot& slot : graph.saved_of(node)) {
        if (slot.state == uint8_t(format::SlotState::held) && slot.tensor != kNone)
          by_tensor_[slot.tensor].push_back(node);
      }
    }
  }

  // The innermost module below which this storage was allocated, made and saved; none: it stays whatever is
  // checkpointed. Of an input that only views keep the storage was allocated outside.
  std::optional<std::string> module_of(uint32_t storage) const {
    const uint32_t representative = view_.holders.representative(storage);
    if (view_.holders.category(representative) != Category::saved_activation) return std::nullopt;
    std::string module = common(view_.holders.module(representative), allocated_in(view_, storage));
    bool saved = false;
    for (uint32_t tensor : view_.dump.storages[storage].tensors) {
      for (const Reference& row : view_.dump.references.of(tensor)) {
        if (holds(row) && format::ReferenceRoot(row.root) != format::ReferenceRoot::node) return std::nullopt;
      }
      for (uint32_t node : by_tensor_[tensor]) {
        const uint32_t seen = view_.dump.graph.nodes[node].seen;
        if (seen == kNone) return std::nullopt;
        module = common(module, view_.places.module_path(view_.dump.nodes[seen].site));
        saved = true;
      }
    }
    return saved && !module.empty() ? std::optional(module) : std::nullopt;
  }

 private:
  const View& view_;
  std::vector<std::vector<uint32_t>> by_tensor_;
};

struct Saved {
  uint64_t bytes = 0;
  uint64_t unused = 0;  // of these: ends of blocks that the tensors do not use
};

// By module, of what was made and saved right below it.
std::map<std::string, Saved> saved_by_module(const View& view, Device device) {
  const Savers savers(view);
  std::map<std::string, Saved> result;
  for (const Allocation& allocation : view.dump.allocations) {
    if (allocation.device != device || allocation.storages.empty()) continue;
    std::optional<std::string> module = savers.module_of(allocation.storages.front());
    uint64_t used = 0;
    for (uint32_t storage : allocation.storages) {
      const std::optional<std::string> other = savers.module_of(storage);
      module = module && other ? std::optional(common(*module, *other)) : std::nullopt;
      used += view.dump.storages[storage].own_nbytes;
    }
    if (!module || module->empty()) continue;
    Saved& saved = result[*module];
    saved.bytes += allocation.nbytes;
    saved.unused += allocation.nbytes - std::min(allocation.nbytes, used);
  }
  return result;
}

// Modules whose forward runs: containers such as ModuleList are never called, so there is nothing to wrap.
std::set<std::string> called_modules(const Dump& dump) {
  const FrameFacts facts(dump);
  std::set<std::string> called;
  for (uint32_t site = 1; site < dump.sites.size(); ++site) {
    for (uint32_t call = facts.call(site); call != 0; call = facts.outer_call(call)) called.insert(facts.path(call));
  }
  return called;
}

// What is left is freed permanently only if the modules are several: backward needs one of them at a time. A single one
// helps as long as others hold the most.
uint64_t gain(const Checkpoint& checkpoint, uint64_t all) {
  return checkpoint.instances > 1 ? checkpoint.stays_free() : std::min(checkpoint.stays_free(), all - checkpoint.bytes);
}

std::set<std::string> modules_with_batch_norm(const View& view) {
  const Graph& graph = view.dump.graph;
  std::set<std::string> paths;
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    const uint32_t seen = graph.nodes[node].seen;
    if (seen == kNone || graph.class_name(node).find("BatchNorm") == std::string::npos) continue;
    paths.insert(view.places.module_path(view.dump.nodes[seen].site));
  }
  return paths;
}

bool any_within(const std::set<std::string>& paths, const std::set<std::string>& modules) {
  return std::ranges::any_of(paths, [&](const std::string& path) {
    return std::ranges::any_of(modules, [&](const std::string& module) { return within(path, module); });
  });
}

}  // namespace

std::vector<Checkpoint> checkpoints(const View& view, Device device, uint64_t least, size_t most,
                                    const std::string& in_flight) {
  if (!view.dump.references.present || !view.dump.graph.present) return {};
  uint64_t all = 0;
  std::map<std::string, Saved> instances;  // with the modules in them
  for (const auto& [module, saved] : saved_by_module(view, device)) {
    all += saved.bytes;
    for (size_t end = 0; end != std::string::npos;) {
      end = module.find('.', end + 1);
      Saved& instance = instances[module.substr(0, end)];
      instance.bytes += saved.bytes;
      instance.unused += saved.unused;
    }
  }
  std::map<std::string, Checkpoint> candidates;
  std::map<std::string, std::set<std::string>> modules;  // of each candidate
  const std::set<std::string> called = called_modules(view.dump);
  for (const auto& [module, saved] : instances) {
    if (!called.contains(module)) continue;
    Checkpoint& candidate = candidates[with_wildcards(module)];
    candidate.modules = with_wildcards(module);
    candidate.instances += 1;
    candidate.bytes += saved.bytes;
    candidate.unused += saved.unused;
    candidate.largest = std::max(candidate.largest, saved.bytes);
    if (within(in_flight, module)) candidate.in_flight += saved.bytes;
    modules[candidate.modules].insert(module);
  }
  std::vector<Checkpoint> sorted;
  for (auto& [name, candidate] : candidates) {
    if (gain(candidate, all) >= std::max<uint64_t>(least, 1)) sorted.push_back(candidate);
  }
  // Of modules that give the same, the outermost is the one to wrap; names are sorted, so it comes first.
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Checkpoint& a, const Checkpoint& b) { return gain(a, all) > gain(b, all); });
  std::vector<Checkpoint> result;
  for (const Checkpoint& candidate : sorted) {
    const bool apart = std::none_of(result.begin(), result.end(), [&](const Checkpoint& taken) {
      return within(candidate.modules, taken.modules) || within(taken.modules, candidate.modules);
    });
    if (apart) result.push_back(candidate);
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Checkpoint& a, const Checkpoint& b) { return a.bytes > b.bytes; });
  if (result.size() > most) result.resize(most);
  if (result.empty()) return result;
  const ModuleInputs inputs(view);
  const std::set<std::string> with_batch_norm = modules_with_batch_norm(view);
  for (Checkpoint& one : result) {
    one.inputs = inputs.not_kept(modules[one.modules]);
    one.batch_norm = any_within(with_batch_norm, modules[one.modules]);
  }
  return result;
}

}  // namespace tensorscope::analyzer::oom
