// SPDX-License-Identifier: Apache-2.0
// What an optimizer and backward keep for parameters in its groups: state and gradients, which become more when more
// parameters are trained. A remark; what grows is the parameters, if anything does.
#include <map>
#include <set>
#include <string>

#include "leaks/leak_analysis.h"
#include "leaks/optimizer_references.h"

namespace tensorscope::analyzer {

namespace {

constexpr std::string_view kState = ".state[";

// "layers.0.weight" of "Adam.state['layers.0.weight'].exp_avg"; "" of what is no state of a key.
std::string key_of(const std::string& text) {
  const size_t begin = text.find(kState);
  if (begin == std::string::npos) return "";
  int depth = 1;
  size_t end = begin + kState.size();
  for (; end < text.size() && depth > 0; ++end) {
    if (text[end] == '[') ++depth;
    if (text[end] == ']') --depth;
  }
  std::string key = text.substr(begin + kState.size(), end - 1 - begin - kState.size());
  const bool quoted = key.size() >= 2 && key.front() == '\'' && key.back() == '\'';
  return quoted ? key.substr(1, key.size() - 2) : key;
}

using StateByKey = std::map<std::string, std::vector<uint32_t>>;

StateByKey state_by_key(const View& view) {
  StateByKey state;
  for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
    if (!view.selection.tensor(i)) continue;
    for (const Reference& row : view.dump.references.of(i)) {
      if (format::ReferenceRole(row.role) != format::ReferenceRole::optimizer_state) continue;
      state[key_of(row.text)].push_back(i);
      break;
    }
  }
  return state;
}

std::string optimizer_of_parameter(const Dump& dump, uint32_t tensor) {
  for (const Reference& row : dump.references.of(tensor)) {
    if (std::string optimizer = optimizer_of(row); !optimizer.empty()) return optimizer;
  }
  return "";
}

std::set<std::string> optimizers_of(const Dump& dump) {
  std::set<std::string> optimizers;
  for (uint32_t i = 0; i < dump.tensors.size(); ++i) {
    if (dump.references.present && dump.references.tensors[i].optimized)
      optimizers.insert(optimizer_of_parameter(dump, i));
  }
  return optimizers;
}

// Those whose parameters and state may become more. Optimizers that become more in every interval are themselves what
// grows, with all that they keep: then only those that were there in the first dump.
struct Followed {
  bool all = true;
  std::set<std::string> optimizers;
  bool has(const std::string& optimizer) const { return all || optimizers.contains(optimizer); }
};

Followed followed_optimizers(const LeakAnalysis& analysis) {
  Followed followed{.all = true, .optimizers = optimizers_of(analysis.view(0).dump)};
  std::vector<uint64_t> counts = {followed.optimizers.size()};
  for (size_t i = 1; i < analysis.dumps(); ++i) counts.push_back(optimizers_of(analysis.view(i).dump).size());
  followed.all = !grows(counts);
  return followed;
}

// What parameters in groups are called that something else refers to, too, by any of their names, and their gradients.
struct Optimized {
  std::set<std::string> names;
  std::vector<uint32_t> gradients;
};

Optimized optimized_of(const View& view, const Retention& retention, const Followed& followed) {
  Optimized optimized;
  for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
    if (!view.dump.references.present || !view.dump.references.tensors[i].optimized) continue;
    // Whatever keeps the optimizer keeps these, and is what grows.
    if (!only_in_optimizer(view.dump.references, i).empty()) continue;
    if (!followed.has(optimizer_of_parameter(view.dump, i))) continue;
    optimized.names.insert(view.holders.name(i));
    for (const Reference& row : view.dump.references.of(i)) optimized.names.insert(row.text);
    for (const Retention::Link& link : retention.links_of_tensor(i)) {
      if (link.kind == Retention::Link::Kind::gradient) optimized.gradients.push_back(link.to);
    }
  }
  return optimized;
}

// State of which a parameter has more than any had in the first dump is a container that grows.
std::vector<uint32_t> kept_for_parameters(const View& view, const Retention& retention, const Followed& followed,
                                          size_t most_each) {
  const Optimized optimized = optimized_of(view, retention, followed);
  std::vector<uint32_t> tensors = optimized.gradients;
  for (const auto& [key, state] : state_by_key(view)) {
    if (optimized.names.contains(key) && state.size() <= most_each)
      tensors.insert(tensors.end(), state.begin(), state.end());
  }
  return tensors;
}

}  // namespace

void find_state_of_parameters(LeakAnalysis& analysis) {
  if (analysis.dumps() < 2) return;
  size_t most_each = 0;
  for (const auto& [key, state] : state_by_key(analysis.view(0))) most_each = std::max(most_each, state.size());
  if (most_each == 0) most_each = SIZE_MAX;  // no step was done yet
  const Followed followed = followed_optimizers(analysis);
  LeakFinding finding;
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    finding.tensors = kept_for_parameters(analysis.view(i), analysis.retention(i), followed, most_each);
    finding.growth.count.push_back(finding.tensors.size());
    finding.growth.bytes.push_back(analysis.bytes_of(i, finding.tensors));
  }
  if (finding.growth.added() <= 0) return;
  finding.kind = LeakKind::container;
  finding.holders = {"an optimizer, for parameters in its groups"};
  finding.bytes = finding.growth.bytes.back();
  finding.site = analysis.site_of(finding.tensors);
  analysis.add_remark(Remark::Reason::follows_parameters, std::move(finding));
}

}  // namespace tensorscope::analyzer
