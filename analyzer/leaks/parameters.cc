// SPDX-License-Identifier: Apache-2.0
// Parameters that are kept twice, and leaves that gather gradient for nobody. One dump is enough.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "dump/sort_by_serial.h"
#include "leaks/leak_analysis.h"

namespace tensorscope::analyzer {

namespace {

using format::ReferenceRole;
using format::TensorFlag;

constexpr uint64_t kMinCopy = 4 << 10;    // bytes of copies in another dtype
constexpr uint64_t kMinStray = 64 << 10;  // of leaves that are in no optimizer, with their gradients

const Reference* first_holder(const Dump& dump, uint32_t tensor) {
  for (const Reference& row : dump.references.of(tensor)) {
    if (holds(row)) return &row;
  }
  return nullptr;
}

std::string name_of(const Dump& dump, uint32_t tensor) {
  const Reference* holder = first_holder(dump, tensor);
  return holder != nullptr ? holder->line() : "tensor #" + std::to_string(dump.tensors[tensor].serial);
}

std::vector<uint32_t> largest_first(const Dump& dump, std::vector<uint32_t> tensors) {
  std::stable_sort(tensors.begin(), tensors.end(),
                   [&](uint32_t a, uint32_t b) { return dump.tensors[a].nbytes > dump.tensors[b].nbytes; });
  return tensors;
}

bool has_role(const Dump& dump, uint32_t tensor, ReferenceRole role) {
  auto rows = dump.references.of(tensor);
  return std::any_of(rows.begin(), rows.end(), [&](const Reference& row) { return ReferenceRole(row.role) == role; });
}

bool was_there_before(const LeakAnalysis& analysis, uint32_t tensor, bool with_gradient) {
  if (analysis.dumps() < 2) return false;
  const uint64_t serial = analysis.last().dump.tensors[tensor].serial;
  const std::vector<Tensor>& before = analysis.view(analysis.dumps() - 2).dump.tensors;
  const uint32_t found = row_with(before, serial);
  return found != kNone && (!with_gradient || before[found].grad != 0);
}

// A plain tensor that takes part in one step only (an input whose gradient is wanted) gathers nothing: it is younger
// than what the optimizer's first step made.
bool outlives_a_step(const LeakAnalysis& analysis, uint32_t tensor) {
  const Dump& dump = analysis.last().dump;
  if (dump.references.tensors[tensor].trained || was_there_before(analysis, tensor, /*with_gradient=*/true))
    return true;
  for (uint32_t i = 0; i < dump.tensors.size(); ++i) {
    if (has_role(dump, i, ReferenceRole::optimizer_state)) return tensor < i;  // both are in the order of serials
  }
  return false;
}

bool floating(int8_t dtype) { return (dtype >= 5 && dtype <= 7) || dtype == 15; }  // c10::ScalarType

bool gathers(const Dump& dump, uint32_t tensor) {
  const Tensor& entry = dump.tensors[tensor];
  const TensorObject& object = dump.references.tensors[tensor];
  return object.known && !object.optimized && entry.grad != 0 && has(entry, TensorFlag::leaf) &&
         has(entry, TensorFlag::requires_grad);
}

// Not what a compiler or a meta device has in a tensor's place.
bool has_memory(const View& view, uint32_t tensor) {
  return view.accounts.items()[view.accounts.item_of_tensor(tensor)].bytes > 0;
}

uint32_t gradient_of(const Dump& dump, uint32_t tensor) {
  for (uint32_t i = 0; i < dump.tensors.size(); ++i) {
    if (dump.tensors[i].address == dump.tensors[tensor].grad) return i;
  }
  return kNone;
}

// A gradient that was made in an earlier step, and never added to, is what is left of a former training.
bool is_left_over(const Dump& dump, uint32_t gradient) {
  const Steps& steps = dump.steps;
  if (gradient == kNone || dump.tensors[gradient].version != 0 || steps.ends.size() < 2) return false;
  return dump.tensors[gradient].serial <= steps.ends[steps.ends.size() - 2];
}

// Mixed precision: the optimizer has a copy of it in another dtype.
bool has_master(const Dump& dump, const std::vector<uint32_t>& optimized, uint32_t tensor) {
  return std::any_of(optimized.begin(), optimized.end(), [&](uint32_t other) {
    return dump.tensors[other].dtype != dump.tensors[tensor].dtype &&
           dump.tensors[other].numel == dump.tensors[tensor].numel;
  });
}

struct Pair {
  uint32_t parameter, copy;
  FactKind why;
};

std::string path_in_module(const Reference& row) {
  const size_t dot = row.text.find('.');
  return dot == std::string::npos ? "" : row.text.substr(dot + 1);
}

// The parameter that this tensor was cast from, by its node.
uint32_t cast_from(const LeakAnalysis& analysis, uint32_t tensor) {
  const Graph& graph = analysis.last().dump.graph;
  const uint32_t leaf = analysis.retention().leaf_of_cast(tensor);
  return leaf == kNoNode || graph.saved_of(leaf).empty() ? kNone : graph.saved_of(leaf)[0].tensor;
}

class Copies {
 public:
  explicit Copies(const LeakAnalysis& analysis) : analysis_(analysis), dump_(analysis.last().dump) {
    for (uint32_t i = 0; i < dump_.tensors.size(); ++i) {
      const bool trained = dump_.references.tensors[i].trained || has_role(dump_, i, ReferenceRole::parameter);
      if (trained && floating(dump_.tensors[i].dtype) && analysis.last().selection.tensor(i)) parameters_.push_back(i);
    }
  }

  std::vector<Pair> all() {
    for (uint32_t i = 0; i < dump_.tensors.size(); ++i) {
      if (may_be_copy(i)) by_node(i), by_path(i);
    }
    for (const Series& series : analysis_.series()) by_order(series);
    return std::move(pairs_);
  }

 private:
  bool may_be_copy(uint32_t tensor) const {
    const Category category = analysis_.last().holders.category(tensor);
    return floating(dump_.tensors[tensor].dtype) && category != Category::gradient &&
           category != Category::optimizer_state && !has_role(dump_, tensor, ReferenceRole::optimizer_state) &&
           analysis_.last().selection.tensor(tensor);
  }
  bool alike(uint32_t a, uint32_t b) const {
    return std::ranges::equal(dump_.tensors[a].sizes, dump_.tensors[b].sizes) &&
           dump_.tensors[a].dtype != dump_.tensors[b].dtype;
  }
  void add(uint32_t parameter, uint32_t copy, FactKind why) {
    if (taken_.insert(copy).second) pairs_.push_back({parameter, copy, why});
  }

  // Casts that autocast makes are gone at the end of the step, and nobody in Python has them.
  void by_node(uint32_t tensor) {
    const uint32_t parameter = cast_from(analysis_, tensor);
    if (parameter == kNone || !alike(parameter, tensor)) return;
    if (first_holder(dump_, tensor) == nullptr && !was_there_before(analysis_, tensor, false)) return;
    add(parameter, tensor, FactKind::cast_copies);
  }

  void by_path(uint32_t tensor) {
    for (const Reference& row : dump_.references.of(tensor)) {
      if (!holds(row)) continue;
      for (uint32_t parameter : with_path(row)) {
        const bool wider = dump_.tensors[parameter].itemsize > dump_.tensors[tensor].itemsize;
        const bool both = std::binary_search(parameters_.begin(), parameters_.end(), tensor);
        if (parameter == tensor || !alike(parameter, tensor) || (both && !wider)) continue;
        add(parameter, tensor, FactKind::path_copies);
      }
    }
  }

  // Parameters whose path within their model ends this text: "half.fc1.weight", "weights['fc1.weight']".
  const std::vector<uint32_t>& with_path(const Reference& row) {
    if (by_path_.empty()) {
      for (uint32_t parameter : parameters_) {
        for (const Reference& own : dump_.references.of(parameter)) {
          if (holds(own) && !path_in_module(own).empty()) by_path_[path_in_module(own)].push_back(parameter);
        }
      }
    }
    static const std::vector<uint32_t> kNobody;
    const size_t open = row.text.rfind("['");
    const size_t close = row.text.rfind("']");
    const bool key = open != std::string::npos && close != std::string::npos && close > open;
    auto found = by_path_.find(key ? row.text.substr(open + 2, close - open - 2) : path_in_module(row));
    return found == by_path_.end() ? kNobody : found->second;
  }

  // A list with one tensor of another dtype for each parameter of one dtype, in the same order.
  void by_order(const Series& series) {
    const std::vector<uint32_t>& members = series.members.back();
    if (!series.container || members.size() < 2 || !may_be_copy(members[0])) return;
    std::vector<uint32_t> parameters;
    for (uint32_t parameter : parameters_) {
      if (!std::binary_search(members.begin(), members.end(), parameter)) parameters.push_back(parameter);
    }
    if (parameters.size() != members.size()) return;
    for (size_t i = 0; i < members.size(); ++i) {
      if (!alike(parameters[i], members[i]) || dump_.tensors[members[i]].dtype != dump_.tensors[members[0]].dtype)
        return;
    }
    for (size_t i = 0; i < members.size(); ++i) {
      if (may_be_copy(members[i])) add(parameters[i], members[i], FactKind::ordered_copies);
    }
  }

  const LeakAnalysis& analysis_;
  const Dump& dump_;
  std::vector<uint32_t> parameters_;  // by number
  std::map<std::string, std::vector<uint32_t>> by_path_;
  std::set<uint32_t> taken_;
  std::vector<Pair> pairs_;
};

}  // namespace

void find_stray_leaves(LeakAnalysis& analysis) {
  const Dump& dump = analysis.last().dump;
  if (!dump.references.present) return;
  std::vector<uint32_t> optimized, stray;
  for (uint32_t i = 0; i < dump.tensors.size(); ++i) {
    if (dump.references.tensors[i].optimized) optimized.push_back(i);
  }
  for (uint32_t i = 0; i < dump.tensors.size() && !optimized.empty(); ++i) {
    if (!analysis.last().selection.tensor(i) || !gathers(dump, i) || has_master(dump, optimized, i)) continue;
    if (analysis.explained(i) || !has_memory(analysis.last(), i)) continue;
    if (outlives_a_step(analysis, i) && !is_left_over(dump, gradient_of(dump, i))) stray.push_back(i);
  }
  if (stray.empty()) return;
  LeakFinding finding;
  finding.kind = LeakKind::stray_leaf;
  finding.advice = Advice::optimize_or_freeze;
  for (uint32_t tensor : largest_first(dump, stray)) finding.holders.push_back(name_of(dump, tensor));
  finding.bytes = analysis.bytes_of(analysis.dumps() - 1, stray) * 2;  // and as much of gradient
  finding.site = analysis.site_of(stray);
  finding.evidence = {{FactKind::stray_leaves, {stray.size()}}, {FactKind::optimized_tensors, {optimized.size()}}};
  const uint32_t gradient = gradient_of(dump, largest_first(dump, stray).front());
  if (gradient != kNone && dump.tensors[gradient].version != kNone) {
    const uint64_t changes = dump.tensors[gradient].version;
    finding.evidence.push_back({FactKind::gradient_changes, {changes}, finding.holders.front()});
  }
  finding.tensors = std::move(stray);
  // It stays as large as it is.
  if (finding.bytes >= kMinStray) analysis.add_remark(Remark::Reason::does_not_grow, std::move(finding));
}

void find_two_dtypes(LeakAnalysis& analysis) {
  const Dump& dump = analysis.last().dump;
  if (!dump.references.present) return;
  std::vector<Pair> pairs = Copies(analysis).all();
  std::stable_sort(pairs.begin(), pairs.end(), [&](const Pair& a, const Pair& b) {
    return dump.tensors[a.copy].nbytes > dump.tensors[b.copy].nbytes;
  });
  std::map<FactKind, uint64_t> reasons;
  LeakFinding finding;
  for (const Pair& pair : pairs) {
    if (analysis.explained(pair.copy)) continue;
    finding.pairs.push_back({name_of(dump, pair.parameter), dump.tensors[pair.parameter].dtype_text(),
                             name_of(dump, pair.copy), dump.tensors[pair.copy].dtype_text()});
    ++reasons[pair.why];
    finding.tensors.push_back(pair.copy);
  }
  finding.bytes = analysis.bytes_of(analysis.dumps() - 1, finding.tensors);
  if (finding.bytes < kMinCopy) return;
  finding.kind = LeakKind::two_dtypes;
  finding.advice = Advice::cast_on_use;
  finding.site = analysis.site_of(finding.tensors);
  finding.evidence = {{FactKind::copies, {finding.bytes}}};
  for (const auto& [why, count] : reasons) finding.evidence.push_back({why, {count}});
  analysis.add(std::move(finding));
}

}  // namespace tensorscope::analyzer
