// SPDX-License-Identifier: Apache-2.0
// A tensor that stays the same and whose storage is made larger each time: `buffer.resize_(n)`, `x.data = longer`.
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

}  // namespace tensorscope::analyzer
