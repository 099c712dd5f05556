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

void sort_by_bytes(std::vector<Part>& parts) {
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return *a.bytes > *b.bytes; });
}

std::vector<Part> largest_first(const std::map<std::string, uint64_t>& sums, PartKind kind) {
  std::vector<Part> parts;
  for (const auto& [subject, bytes] : sums) {
    parts.push_back(part(kind, counted(bytes)));
    parts.back().subject = subject;
  }
  sort_by_bytes(parts);
  return parts;
}

// By category; each category by module.
Part tensors(const View& view, Device device, uint64_t bytes) {
  struct Share {
    uint64_t bytes = 0, storages = 0;
    std::map<std::string, uint64_t> modules;
  };
  std::map<Category, Share> shares;
  for (const Item& item : view.accounts.items()) {
    if (item.device != device || item.allocation == kNone || item.storage == kNone) continue;
    const uint32_t speaker = view.holders.speaker(item.storage);
    Share& share = shares[view.holders.category(speaker)];
    const uint64_t own = item.bytes - item.rounding - item.outside;
    share.bytes += own;
    share.storages += 1;
    share.modules[starred(view.holders.module(speaker))] += own;
  }
  Part result = part(PartKind::tensors, counted(bytes));
  for (auto& [category, share] : shares) {
    Part entry = part(PartKind::category, counted(share.bytes), {NoteKind::storages, share.storages});
    entry.category = category;
    if (share.modules.size() > 1 || !share.modules.begin()->first.empty()) {
      entry.parts = largest_first(share.modules, PartKind::module);
    }
    result.parts.push_back(std::move(entry));
  }
  sort_by_bytes(result.parts);
  close(result, NoteKind::storages_overlap);
  return result;
}

Part blocks(const View& view, Device device, uint64_t bytes) {
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
  Part result =
      spare(PartKind::in_no_tensor, counted(bytes), {NoteKind::blocks, sites.size(), sites.empty() ? 0 : unknown});
  result.parts = largest_first(callers, PartKind::caller);
  if (result.parts.size() <= kNamedCallers) return result;
  int64_t rest = 0;
  for (size_t i = kNamedCallers; i < result.parts.size(); ++i) rest += *result.parts[i].bytes;
  const size_t more = result.parts.size() - kNamedCallers;
  result.parts.resize(kNamedCallers);
  result.parts.push_back(part(PartKind::other_callers, rest, {NoteKind::more_places, more}));
  return result;
}

}  // namespace

Part allocated(const View& view, Device device) {
  static const DeviceSums kNothing;
  const DeviceSums* found = sums_of(view, device);
  const DeviceSums& sums = found != nullptr ? *found : kNothing;
  uint64_t bytes = sums.allocator_bytes();
  if (const DeviceTotal* total = view.dump.total_of(device)) {
    bytes = total->allocator_allocated != 0 ? total->allocator_allocated : total->live_bytes;
  }
  Part result = part(PartKind::allocated, counted(bytes));
  result.parts = {tensors(view, device, sums.in_tensors.bytes + sums.mapped.bytes),
                  blocks(view, device, sums.no_tensor.bytes),
                  spare(PartKind::rounding, counted(sums.rounding.bytes), {NoteKind::ends_of_blocks})};
  close(result, NoteKind::not_seen);
  return result;
}

}  // namespace tensorscope::analyzer::oom
