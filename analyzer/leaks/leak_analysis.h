// SPDX-License-Identifier: Apache-2.0
// The dumps that findings look into, with what several of them ask: who holds what, what would go away with it, and
// what grew. Built once a command; each family of findings is a function that adds its own (one file a family).
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dump_generated.h"
#include "leaks/finding.h"
#include "leaks/forms.h"
#include "leaks/growth.h"
#include "leaks/named_entries.h"
#include "leaks/retention.h"
#include "leaks/series.h"

namespace tensorscope::analyzer {

// Growth of less weight than this is no finding. The weight is the bytes, plus kObjectBytes for each tensor and each
// node.
inline constexpr uint64_t kMinGrowth = 64 << 10;
inline constexpr uint64_t kObjectBytes = 512;
inline bool weighs_enough(int64_t bytes, int64_t things) {
  return bytes + things * int64_t(kObjectBytes) >= int64_t(kMinGrowth);
}

class LeakAnalysis {
 public:
  // `views`: the dumps of one run in order of time. `unfiltered`: no filter is set, so that findings about the process
  // as a whole are allowed.
  LeakAnalysis(std::vector<View> views, bool unfiltered);

  size_t dumps() const { return views_.size(); }
  const std::vector<View>& views() const { return views_; }
  const View& view(size_t dump) const { return views_[dump]; }
  const View& last() const { return views_.back(); }
  const Timeline& timeline() const { return timeline_; }
  bool unfiltered() const { return unfiltered_; }
  const Retention& retention(size_t dump) const { return *retentions_[dump]; }
  const Retention& retention() const { return *retentions_.back(); }
  // Every variable and container that refers to a selected tensor of the last dump.
  const std::vector<Series>& series() const { return series_; }
  // Returns the containers that accumulate, the largest growth first. A container appears once: its entries' series are
  // added up.
  std::vector<Series> containers() const;
  // Returns these series with those of one container added up, as containers() does.
  std::vector<Series> joined_by_container(const std::vector<const Series*>& some) const;

  // Whether a finding has explained this tensor of the last dump.
  bool explained(uint32_t tensor) const { return explained_[tensor]; }
  // Whether findings have explained more than half of the bytes of these tensors.
  bool explained(std::span<const uint32_t> tensors) const;
  // Whether tensors for which `passes` is true have more than half of the bytes of these (a storage counts once). If
  // they have no memory, whether they are more than half of the number.
  bool mostly(std::span<const uint32_t> tensors, const std::function<bool(uint32_t)>& passes) const;
  bool node_explained(uint32_t node) const { return nodes_explained_[node]; }

  // Adds a finding; its tensors, and `nodes`, of the last dump are explained from now on. If it rests on growth that
  // slows down, it becomes a remark.
  void add(LeakFinding finding, std::span<const uint32_t> nodes = {});
  // Adds what grows and is no finding; its tensors are explained, too.
  void add_remark(Remark::Reason reason, LeakFinding what);
  // Nodes that a finding to come, or one that is there, is about.
  void explain(std::span<const uint32_t> nodes) {
    for (uint32_t node : nodes) nodes_explained_[node] = true;
  }
  // The first finding about this container, or about what it is in or has in it; null: there is none.
  LeakFinding* finding_of(const HolderPlace& container);
  LeakFinding* finding_with(Advice advice);
  // The first whose memory was mostly allocated at this place.
  LeakFinding* finding_made_at(const std::string& where);
  bool has_findings() const { return !findings_.empty(); }
  std::vector<LeakFinding> take_findings() { return std::move(findings_); }
  std::vector<Remark> take_remarks() { return std::move(remarks_); }

  // Where its entries are: a few of them, which lead to what has them.
  std::vector<HolderPlace> places_of(const Series& series) const;
  // "train.py: losses[0..95]": the names of a series in the last dump.
  std::string label(const Series& series) const;
  // Bytes of the storages that these tensors lie in, each once.
  uint64_t bytes_of(size_t dump, std::span<const uint32_t> tensors) const;
  // Where most of the memory of these tensors of the last dump was made; where they have none, most of themselves.
  uint32_t site_of(std::span<const uint32_t> tensors) const;
  // Where the memory of these tensors was made, each storage's once, by line: the most bytes first.
  std::vector<CreationSite> memory_of(std::span<const uint32_t> tensors) const;

 private:
  // Puts what a finding or remark is about in order; its tensors are explained from now on.
  void complete(LeakFinding& finding);
  std::vector<uint32_t> counted_in(const LeakFinding& finding) const;
  void find_series();
  std::vector<Series> with_siblings_joined(std::vector<Series> containers) const;
  void join_container(const Series& from, Series& to) const;
  void add_series_of(std::map<Beginning, Series>& calls);
  bool grows_alone(const Series& series) const;
  void join_named_entries();
  // The references of a series to its tensors of the last dump, as they are named.
  void each_reference(const Series& series,
                      const std::function<void(uint32_t tensor, const Reference& row)>& take) const;
  bool names_become_more(const std::vector<NamedEntry>& entries, Names names) const;

  std::vector<View> views_;
  bool unfiltered_;
  Timeline timeline_;
  std::vector<std::unique_ptr<Retention>> retentions_;
  std::vector<Series> series_;
  std::vector<bool> explained_, nodes_explained_;
  std::vector<LeakFinding> findings_;
  std::vector<Remark> remarks_;
};

// All that hold a tensor, the first three of them ("x (local of main); cache.keys"): where it is replaced by a larger
// one each time, the next one is made from what one of them refers to. "": nothing known does.
std::string all_holders(const View& view, uint32_t tensor);

// Whether a profiler of torch was on in each dump: it keeps every operation, and objects of tensors without memory.
bool profiler_is_on(const std::vector<View>& views);

// Whether `.item()` of each of them is possible.
bool all_scalars(const Dump& dump, std::span<const uint32_t> tensors);
std::vector<uint64_t> tensor_serials(const Dump& dump, const std::vector<uint32_t>& tensors);

inline bool has(const Tensor& tensor, format::TensorFlag flag) { return (tensor.flags & uint32_t(flag)) != 0; }

// The families, in the order in which they are asked: who explains a tensor first, keeps it.
void find_tracebacks(LeakAnalysis& analysis);
void find_cycles(LeakAnalysis& analysis);
// What unreachable cycles keep; `that_stay`: only where Python's garbage collector does not free them soon.
std::optional<LeakFinding> unreachable_cycles(const LeakAnalysis& analysis, bool that_stay);
void find_graph_cycles(LeakAnalysis& analysis);
void find_small_views(LeakAnalysis& analysis);
void find_kept_graphs(LeakAnalysis& analysis);
void find_autocast_cache(LeakAnalysis& analysis);
void find_stray_leaves(LeakAnalysis& analysis);
void find_two_dtypes(LeakAnalysis& analysis);
void find_gone_parameters(LeakAnalysis& analysis);
void find_state_of_parameters(LeakAnalysis& analysis);
void find_larger_tensors(LeakAnalysis& analysis);
// Adds remarks.
void find_seldom_larger(LeakAnalysis& analysis);
void find_containers(LeakAnalysis& analysis);
void find_unfinished_calls(LeakAnalysis& analysis);
void find_cpp_storage(LeakAnalysis& analysis);
void find_loose_nodes(LeakAnalysis& analysis);
void find_process_memory(LeakAnalysis& analysis);
void find_child_processes(LeakAnalysis& analysis);

}  // namespace tensorscope::analyzer
