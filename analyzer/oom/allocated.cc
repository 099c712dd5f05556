// SPDX-License-Identifier: Apache-2.0
// The part of balance.h that torch allocated: tensors, blocks in no tensor, rounding.
#include <algorithm>
#include <map>

#include "dump_generated.h"
#include "oom/balance.h"
#include "oom/callers.h"
#include "oom/checkpointing.h"
#include "support/dotted_path.h"

namespace tensorscope::analyzer::oom {

namespace {

constexpr size_t kNamedCallers = 3;

const DeviceSums* sums_of(const View& view, Device device) {
  for (const DeviceSums& sums : view.accounts.devices()) {
    if (sums.device == device) return &sums;
  }
  return nullptr;
}

void sort_by_bytes(std::vector<BalanceNode>& parts) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const BalanceNode& a, const BalanceNode& b) { return *a.bytes > *b.bytes; });
}

std::vector<BalanceNode> largest_first(const std::map<std::string, uint64_t>& sums, BalanceKind kind) {
  std::vector<BalanceNode> parts;
  for (const auto& [subject, bytes] : sums) {
    parts.push_back(balance_node(kind, counted(bytes)));
    parts.back().subject = subject;
  }
  sort_by_bytes(parts);
  return parts;
}

// By category; each category by module.
BalanceNode tensors(const View& view, Device device, uint64_t bytes) {
  struct Share {
    uint64_t bytes = 0, storages = 0;
    std::map<std::string, uint64_t> modules;
  };
  std::map<Category, Share> shares;
  for (const Item& item : view.accounts.items()) {
    if (item.device != device || item.allocation == kNone || item.storage == kNone) continue;
    const uint32_t representative = view.holders.representative(item.storage);
    Share& share = shares[view.holders.category(representative)];
    const uint64_t own = item.bytes - item.rounding - item.outside;
    share.bytes += own;
    share.storages += 1;
    share.modules[with_wildcards(view.holders.module(representative))] += own;
  }
  BalanceNode result = balance_node(BalanceKind::tensors, counted(bytes));
  for (auto& [category, share] : shares) {
    BalanceNode entry = balance_node(BalanceKind::category, counted(share.bytes), {NoteKind::storages, share.storages});
    entry.category = category;
    if (share.modules.size() > 1 || !share.modules.begin()->first.empty()) {
      entry.parts = largest_first(share.modules, BalanceKind::module);
    }
    result.parts.push_back(std::move(entry));
  }
  sort_by_bytes(result.parts);
  add_remainder(result, NoteKind::storages_overlap);
  return result;
}

BalanceNode blocks(const View& view, Device device, uint64_t bytes) {
  std::vector<uint32_t> sites;
  for (const Item& item : view.accounts.items()) {
    if (item.device == device && item.storage == kNone && item.allocation != kNone) sites.push_back(item.site);
  }
  view.places.prefetch(sites, /*whole_stacks=*/true);
  std::map<std::string, uint64_t> callers;
  for (const Item& item : view.accounts.items()) {
    if (item.device != device || item.storage != kNone || item.allocation == kNone) continue;
    callers[caller_of_block(view, item.site)] += item.bytes;
  }
  const uint64_t unknown = view.accounts.unknown_memory().tensors();
  BalanceNode result = optional_node(BalanceKind::in_no_tensor, counted(bytes),
                                     {NoteKind::blocks, sites.size(), sites.empty() ? 0 : unknown});
  result.parts = largest_first(callers, BalanceKind::caller);
  if (result.parts.size() <= kNamedCallers) return result;
  int64_t rest = 0;
  for (size_t i = kNamedCallers; i < result.parts.size(); ++i) rest += *result.parts[i].bytes;
  const size_t more = result.parts.size() - kNamedCallers;
  result.parts.resize(kNamedCallers);
  result.parts.push_back(balance_node(BalanceKind::other_callers, rest, {NoteKind::more_places, more}));
  return result;
}

}  // namespace

BalanceNode allocated(const View& view, Device device) {
  static const DeviceSums kNothing;
  const DeviceSums* found = sums_of(view, device);
  const DeviceSums& sums = found != nullptr ? *found : kNothing;
  uint64_t bytes = sums.allocator_bytes();
  if (const DeviceTotal* total = view.dump.total_of(device)) {
    bytes = total->allocator_allocated != 0 ? total->allocator_allocated : total->live_bytes;
  }
  BalanceNode result = balance_node(BalanceKind::allocated, counted(bytes));
  result.parts = {tensors(view, device, sums.in_tensors.bytes + sums.mapped.bytes),
                  blocks(view, device, sums.no_tensor.bytes),
                  optional_node(BalanceKind::rounding, counted(sums.rounding.bytes), {NoteKind::ends_of_blocks})};
  add_remainder(result, NoteKind::not_seen);
  return result;
}

}  // namespace tensorscope::analyzer::oom
