#include "model/out_of_memory/free_memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "dump_generated.h"

namespace tensorscope::model::oom {

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
  if (!segment.expandable) return segment.active == 0 ? segment.size : 0;
  uint64_t bytes = 0;
  for (const SegmentBlock& block : memory.blocks_of(segment)) {
    if (block.state != uint8_t(dump::BlockState::free)) continue;
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
  if (memory->segments_from == uint8_t(dump::SegmentSource::none)) return result;
  result.known = true;
  result.streams_known = memory->segments_from == uint8_t(dump::SegmentSource::snapshot);
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
    for (const SegmentBlock& block : memory->blocks_of(segment)) {
      if (block.state != uint8_t(dump::BlockState::free)) continue;
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
    : dump_(dump), memory_(memory), cached_(cached), request_(request), needed_(segment_for(request, cached)) {}

uint64_t FitTest::room(uint64_t bytes) const { return memory_->driver_free + bytes; }

uint64_t FitTest::missing(uint64_t bytes) const {
  return !possible() || room(bytes) >= needed_ ? 0 : needed_ - room(bytes);
}

Fits FitTest::with_driver(uint64_t bytes) const {
  if (!possible()) return Fits::unknown;
  return room(bytes) >= needed_ ? Fits::yes : Fits::no;
}

Fits FitTest::at_most(uint64_t bytes) const {
  const Fits fits = with_driver(bytes);
  return fits == Fits::yes ? Fits::may : fits;
}

Fits FitTest::after(const std::vector<uint32_t>& allocations, uint64_t bytes) const {
  if (!possible()) return Fits::unknown;
  std::set<std::pair<uint64_t, uint64_t>> freed;
  for (uint32_t i : allocations) freed.emplace(dump_.allocations[i].pointer, dump_.allocations[i].nbytes);
  uint64_t returned = 0;
  bool piece = false;
  for (const Segment& segment : memory_->segments) {
    uint64_t run = 0, whole = 0, next = segment.address;
    for (const SegmentBlock& block : memory_->blocks_of(segment)) {
      const bool free = block.state == uint8_t(dump::BlockState::free) || freed.contains({block.address, block.size});
      run = free ? (block.address == next ? run : 0) + block.size : 0;
      whole += free ? block.size : 0;
      next = block.address + block.size;
      // Whose stream and pool the request has is not known: a common pool with one stream leaves no doubt.
      const FreePart as{segment.small, segment.stream, segment.pool, segment.pool_user, 0, 0, 0};
      piece = piece || (run >= request_ && of_size_class(as, request_) && !segment.private_pool() &&
                        cached_.streams_known && cached_.streams <= 1);
    }
    if (whole == segment.size) returned += segment.size;
  }
  // Another allocator than torch's own has rules that are not known here.
  if (cached_.native && (piece || with_driver(returned) == Fits::yes)) return Fits::yes;
  return at_most(bytes + cached_.bytes);
}

}  // namespace tensorscope::model::oom
