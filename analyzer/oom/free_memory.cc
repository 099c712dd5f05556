// SPDX-License-Identifier: Apache-2.0
#include "oom/free_memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "dump_generated.h"

namespace tensorscope::analyzer::oom {

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kSmallRequest = kMiB, kSmallSegment = 2 * kMiB, kLargeSegment = 20 * kMiB, kOwnSegment = 10 * kMiB;

uint64_t round_up(uint64_t bytes, uint64_t to) { return (bytes / to + (bytes % to != 0)) * to; }

// Bytes of whole pages in [begin, end), where pages begin at `base`.
uint64_t whole_pages(uint64_t base, uint64_t begin, uint64_t end, uint64_t page) {
  const uint64_t first = round_up(begin - base, page), last = (end - base) / page * page;
  return last > first ? last - first : 0;
}

uint64_t returnable(const DeviceMemory& memory, const Segment& segment) {
  if (segment.private_pool()) return 0;
  if (!segment.expandable) return segment.active == 0 ? segment.size : 0;
  uint64_t bytes = 0;
  for (const SegmentBlock& block : memory.blocks_of(segment)) {
    if (block.state != uint8_t(format::BlockState::free)) continue;
    bytes += whole_pages(segment.address, block.address, block.address + block.size,
                         segment.small ? kSmallSegment : kLargeSegment);
  }
  return bytes;
}

}  // namespace

uint64_t FreeMemory::largest() const {
  uint64_t most = 0;
  for (const FreePart& part : parts) most = std::max(most, part.largest);
  return most;
}

FreeMemory free_memory(const DeviceMemory* memory) {
  FreeMemory result;
  if (memory == nullptr) return result;
  result.native = memory->backend == "native";
  result.expandable = memory->settings.find("expandable_segments:True") != std::string::npos;
  if (memory->segments_from == uint8_t(format::SegmentSource::none)) return result;
  result.known = true;
  result.streams_known = memory->segments_from == uint8_t(format::SegmentSource::snapshot);
  std::map<std::tuple<bool, uint64_t, uint64_t, uint64_t>, FreePart> parts;
  std::set<uint64_t> streams;
  for (const Segment& segment : memory->segments) {
    if (!segment.private_pool()) streams.insert(segment.stream);
    result.reserved += segment.size;
    result.allocated += segment.allocated;
    result.pending += segment.active - segment.allocated;
    result.expandable = result.expandable || segment.expandable;
    result.returnable += returnable(*memory, segment);
    if (segment.free() == 0) continue;
    FreePart& part = parts[{segment.small, segment.stream, segment.pool, segment.pool_user}];
    part.small = segment.small;
    part.stream = segment.stream;
    part.pool = segment.pool;
    part.pool_user = segment.pool_user;
    part.bytes += segment.free();
    result.bytes += segment.free();
    if (!segment.private_pool()) result.common += segment.free();
    for (const SegmentBlock& block : memory->blocks_of(segment)) {
      if (block.state != uint8_t(format::BlockState::free)) continue;
      part.pieces += 1;
      part.largest = std::max(part.largest, block.size);
    }
  }
  result.streams = streams.size();
  for (auto& [key, part] : parts) result.parts.push_back(part);
  std::stable_sort(result.parts.begin(), result.parts.end(),
                   [](const FreePart& a, const FreePart& b) { return a.bytes > b.bytes; });
  return result;
}

uint64_t segment_for(uint64_t request, const FreeMemory& cached) {
  if (!cached.native || request > UINT64_MAX / 2) return request;
  const bool small = request <= kSmallRequest;
  if (cached.expandable) return round_up(request, small ? kSmallSegment : kLargeSegment);
  if (small) return kSmallSegment;
  return request < kOwnSegment ? kLargeSegment : round_up(request, kSmallSegment);
}

FitTest::FitTest(const Dump& dump, const DeviceMemory* memory, const FreeMemory& cached, uint64_t request)
    : dump_(dump), memory_(memory), cached_(cached), request_(request), needed_(segment_for(request, cached)) {
  limited_ = possible() && memory->driver_free >= needed_;
}

FitTest FitTest::of_request(uint64_t request) const {
  FitTest other(dump_, memory_, cached_, request);
  other.limited_ = limited_;
  return other;
}

uint64_t usable_with_pages(const DeviceMemory& memory, uint64_t request) {
  const bool small_request = request <= kSmallRequest;
  std::map<std::pair<uint64_t, bool>, uint64_t> used;  // by stream and size class
  uint64_t has = memory.driver_free;
  for (const Segment& segment : memory.segments) {
    if (segment.private_pool()) continue;
    has += segment.size;
    used[{segment.stream, segment.small}] += segment.active;
  }
  // Whose stream the request is of is not known: that with the most room in its last page.
  uint64_t pages = 0, in_last_page = 0;
  for (const auto& [key, bytes] : used) {
    const uint64_t rounded = round_up(bytes, key.second ? kSmallSegment : kLargeSegment);
    pages += rounded;
    if (key.second == small_request) in_last_page = std::max(in_last_page, rounded - bytes);
  }
  const uint64_t page = small_request ? kSmallSegment : kLargeSegment;
  return pages > has ? 0 : (has - pages) / page * page + in_last_page;
}

uint64_t FitTest::headroom(uint64_t bytes) const { return (limited() ? 0 : memory_->driver_free) + bytes; }

uint64_t FitTest::missing(uint64_t bytes) const {
  return !possible() || limited() || headroom(bytes) >= needed_ ? 0 : needed_ - headroom(bytes);
}

Fits FitTest::enough(uint64_t bytes, Fits then) const {
  if (!possible()) return Fits::unknown;
  if (headroom(bytes) >= needed_) return then;
  return limited() ? Fits::unknown : Fits::no;
}

Fits FitTest::with_driver(uint64_t bytes) const { return enough(bytes, Fits::yes); }
Fits FitTest::at_most(uint64_t bytes) const { return enough(bytes, Fits::may); }

Fits FitTest::after(const std::vector<uint32_t>& allocations, uint64_t bytes) const {
  if (!possible()) return Fits::unknown;
  std::set<std::pair<uint64_t, uint64_t>> freed;
  for (uint32_t i : allocations) freed.emplace(dump_.allocations[i].pointer, dump_.allocations[i].nbytes);
  uint64_t returned = 0, in_private_pools = 0;
  bool piece = false, private_pools = false;
  for (const Segment& segment : memory_->segments) {
    uint64_t run = 0, whole = 0, fresh = 0, next = segment.address;
    for (const SegmentBlock& block : memory_->blocks_of(segment)) {
      const bool goes = freed.contains({block.address, block.size});
      const bool free = goes || block.state == uint8_t(format::BlockState::free);
      run = free ? (block.address == next ? run : 0) + block.size : 0;
      whole += free ? block.size : 0;
      fresh += goes ? block.size : 0;
      next = block.address + block.size;
      const FreePart as{segment.small, segment.stream, segment.pool, segment.pool_user, 0, 0, 0};
      piece = piece || (run >= request_ && of_size_class(as, request_) && !segment.private_pool());
    }
    if (segment.private_pool()) {
      private_pools = true;
      in_private_pools += fresh;
    } else if (whole == segment.size) {
      returned += segment.size;
    }
  }
  // Another allocator than torch's own has rules that are not known here.
  if (!cached_.native) return at_most(bytes + cached_.bytes);
  // Whose stream and pool the request has is not known: a common pool with one stream leaves no doubt.
  const bool one_stream = cached_.streams_known && cached_.streams <= 1;
  if ((piece && one_stream) || with_driver(returned) == Fits::yes) return Fits::yes;
  if (piece) return Fits::may;
  const Fits fits = at_most(bytes - std::min(bytes, in_private_pools) + cached_.common);
  const bool all_seen = cached_.streams_known && !private_pools && !cached_.expandable && !limited();
  return all_seen ? Fits::no : fits;
}

}  // namespace tensorscope::analyzer::oom
