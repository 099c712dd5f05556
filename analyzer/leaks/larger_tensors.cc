// SPDX-License-Identifier: Apache-2.0
// A tensor that stays the same and whose storage is made larger each time: `buffer.resize_(n)`, `x.data = longer`. And
// a variable whose tensor is replaced by a larger one now and then: capacity that doubles.
#include "dump/sort_by_serial.h"
#include "leaks/leak_analysis.h"

namespace tensorscope::analyzer {

namespace {

// Bytes of its storage in each dump; empty where one lacks it.
std::vector<uint64_t> storage_bytes(const LeakAnalysis& analysis, uint64_t serial) {
  std::vector<uint64_t> bytes;
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    const uint32_t tensor = row_with(analysis.view(i).dump.tensors, serial);
    if (tensor == kNone) return {};
    bytes.push_back(analysis.view(i).accounts.items()[analysis.view(i).accounts.item_of_tensor(tensor)].bytes);
  }
  return bytes;
}

std::string holder_of(const View& view, uint32_t tensor) {
  const std::string name = view.holders.name(tensor);
  if (!name.empty()) return name;
  const std::vector<Holder>& holders = view.holders.holders(tensor);
  return holders.empty() ? "tensor #" + std::to_string(view.dump.tensors[tensor].serial) : holders.front().brief;
}

}  // namespace

void find_larger_tensors(LeakAnalysis& analysis) {
  const View& last = analysis.last();
  for (const Storage& storage : last.dump.storages) {
    const uint32_t tensor = storage.tensors.front();
    if (analysis.explained(tensor) || !last.selection.tensor(tensor)) continue;
    Growth growth;
    growth.bytes = storage_bytes(analysis, last.dump.tensors[tensor].serial);
    if (!grows_evenly(growth.bytes) || growth.added_bytes() < int64_t(kMinGrowth)) continue;
    growth.count.assign(analysis.dumps(), 1);
    const Item& item = last.accounts.items()[last.accounts.item_of_tensor(tensor)];
    LeakFinding finding;
    finding.kind = LeakKind::larger_tensor;
    finding.holders = {holder_of(last, last.holders.representative(uint32_t(&storage - last.dump.storages.data())))};
    finding.advice = Advice::bound_storage;
    finding.bytes = growth.bytes.back();
    finding.site = item.site;
    finding.evidence = {{FactKind::same_tensor}, {FactKind::storage_size, growth.bytes}};
    finding.growth = std::move(growth);
    finding.tensors.assign(storage.tensors.begin(), storage.tensors.end());
    analysis.add(std::move(finding));
  }
}

namespace {

// A variable that has one tensor in each dump: it stays, and where it was replaced, the new one is larger.
bool is_seldom_replaced(const LeakAnalysis& analysis, const Series& series) {
  bool stayed = false;
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    if (series.members[i].size() != 1) return false;
    if (i == 0) continue;
    const bool same = analysis.view(i).dump.tensors[series.members[i][0]].serial ==
                      analysis.view(i - 1).dump.tensors[series.members[i - 1][0]].serial;
    stayed |= same;
    if (!same && series.growth.bytes[i] <= series.growth.bytes[i - 1]) return false;
  }
  return stayed;
}

}  // namespace

void find_seldom_larger(LeakAnalysis& analysis) {
  for (const Series& series : analysis.series()) {
    if (series.growth.added_bytes() < int64_t(kMinGrowth) || !is_seldom_replaced(analysis, series)) continue;
    const std::vector<uint32_t>& tensor = series.members.back();
    if (analysis.explained(tensor)) continue;
    LeakFinding what;
    what.kind = LeakKind::larger_tensor;
    what.holders = {analysis.label(series)};
    what.growth = series.growth;
    what.bytes = what.growth.bytes.back();
    what.site = analysis.site_of(tensor);
    what.tensors = tensor;
    analysis.add_remark(Remark::Reason::seldom_larger, std::move(what));
  }
}

}  // namespace tensorscope::analyzer
