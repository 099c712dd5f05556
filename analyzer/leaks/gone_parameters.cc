// SPDX-License-Identifier: Apache-2.0
// Parameters that an optimizer keeps, with its state, after their module is gone: nothing but the optimizer refers to
// them, and they become more. Those that are in no group any more need not become more: no step comes to them, so that
// one dump is enough.
#include <algorithm>
#include <map>
#include <string_view>

#include "leaks/leak_analysis.h"
#include "leaks/optimizer_references.h"

namespace tensorscope::analyzer {

namespace {

using format::ReferenceRole;

constexpr std::string_view kKey = ".state (key)";

// `any`: of parameters in a group, too.
bool state_of(const Reference& row, const std::string& optimizer, bool any) {
  if (ReferenceRole(row.role) != ReferenceRole::optimizer_state) return false;
  const std::string key = optimizer + ".state['" + optimizer;
  // Keys without a name of their own are called by their class, several of them with their id().
  for (const char* end : {"]", " at 0x"}) {
    if (row.text.starts_with(optimizer + ".state[Parameter" + end)) return true;
  }
  return row.text.starts_with(key + std::string(kKey)) || (any && row.text.starts_with(key + ".param_groups["));
}

struct Gone {
  std::vector<uint32_t> parameters, state;
};

// By optimizer.
std::map<std::string, Gone> gone_in(const LeakAnalysis& analysis, size_t dump) {
  const View& view = analysis.view(dump);
  std::map<std::string, Gone> optimizers;
  for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
    const std::string optimizer = only_in_optimizer(view.dump.references, i);
    if (!optimizer.empty() && view.selection.tensor(i)) optimizers[optimizer].parameters.push_back(i);
  }
  return optimizers;
}

void add_state(const Dump& dump, const std::string& optimizer, bool any, Gone& gone) {
  for (uint32_t i = 0; i < dump.tensors.size(); ++i) {
    const auto rows = dump.references.of(i);
    if (std::any_of(rows.begin(), rows.end(), [&](const Reference& row) { return state_of(row, optimizer, any); })) {
      gone.state.push_back(i);
    }
  }
}

// Without those that are in a group.
Gone left_in_state(const Dump& dump, Gone gone) {
  std::erase_if(gone.parameters, [&](uint32_t tensor) {
    const auto rows = dump.references.of(tensor);
    return std::any_of(rows.begin(), rows.end(),
                       [](const Reference& row) { return row.text.find(".param_groups[") != std::string::npos; });
  });
  return gone;
}

// `gone`: by dump; `growing`: more and more of them, whether in a group or not.
void add_finding(LeakAnalysis& analysis, const std::string& optimizer, std::vector<Gone> gone, bool growing) {
  LeakFinding finding;
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    add_state(analysis.view(i).dump, optimizer, growing, gone[i]);
    std::vector<uint32_t> all = gone[i].parameters;
    all.insert(all.end(), gone[i].state.begin(), gone[i].state.end());
    Retained kept = analysis.retention(i).only_by(all);
    finding.growth.count.push_back(gone[i].parameters.size());
    finding.growth.bytes.push_back(kept.bytes);
    finding.tensors = std::move(kept.tensors);
  }
  finding.growth.kept = tensor_serials(analysis.last().dump, gone.back().parameters);
  if (growing && !analysis.timeline().is_accumulating(finding.growth)) return;
  if ((growing ? finding.growth.added_bytes() : int64_t(finding.growth.bytes.back())) < int64_t(kMinGrowth)) return;
  finding.kind = LeakKind::gone_parameters;
  finding.holders = {optimizer};
  finding.advice = Advice::remove_from_optimizer;
  finding.counts = LeakFinding::Counts::parameters;
  finding.bytes = finding.growth.bytes.back();
  finding.site = analysis.site_of(gone.back().parameters);
  finding.evidence = {{FactKind::optimizer_only_parameters, finding.growth.count},
                      {FactKind::optimizer_state, {gone.back().state.size()}},
                      {FactKind::retained, finding.growth.bytes}};
  analysis.add(std::move(finding));
}

}  // namespace

// Each optimizer by itself: where more and more optimizers have a few each, it is their container that grows.
void find_gone_parameters(LeakAnalysis& analysis) {
  std::vector<std::map<std::string, Gone>> dumps;
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    const References& references = analysis.view(i).dump.references;
    if (!references.present || !references.complete) return;
    dumps.push_back(gone_in(analysis, i));
  }
  for (const auto& [optimizer, in_last] : dumps.back()) {
    std::vector<Gone> gone;
    std::vector<uint64_t> count;
    for (std::map<std::string, Gone>& dump : dumps) {
      gone.push_back(dump[optimizer]);
      count.push_back(gone.back().parameters.size());
    }
    const bool growing = grows(count);
    if (!growing) {
      for (size_t i = 0; i < analysis.dumps(); ++i) gone[i] = left_in_state(analysis.view(i).dump, std::move(gone[i]));
    }
    if (!gone.back().parameters.empty()) add_finding(analysis, optimizer, std::move(gone), growing);
  }
}

}  // namespace tensorscope::analyzer
