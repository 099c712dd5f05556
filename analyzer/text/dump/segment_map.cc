// SPDX-License-Identifier: Apache-2.0
#include "text/dump/segment_map.h"

#include <algorithm>

#include "dump_generated.h"

namespace tensorscope::text {

namespace {

char mark(uint8_t state) {
  switch (format::BlockState(state)) {
    case format::BlockState::allocated:
      return '#';
    case format::BlockState::pending_free:
      return 'w';
    case format::BlockState::free:
      break;
  }
  return '.';
}

// Where part `number` of `count` begins; 128 bits because a segment may be large.
uint64_t boundary(uint64_t size, int number, int count) {
  return uint64_t(static_cast<unsigned __int128>(size) * unsigned(number) / unsigned(count));
}

}  // namespace

std::string segment_map(const analyzer::Segment& segment, const std::vector<analyzer::SegmentBlock>& blocks,
                        int width) {
  std::string map;
  auto block = blocks.begin();
  auto end_of = [&](const analyzer::SegmentBlock& b) { return b.address - segment.address + b.size; };
  for (int i = 0; i < width && block != blocks.end(); i++) {
    const uint64_t begin = boundary(segment.size, i, width);
    const uint64_t end = std::max(boundary(segment.size, i + 1, width), begin + 1);
    while (block + 1 != blocks.end() && end_of(*block) <= begin) ++block;
    char cell = mark(block->state);
    for (auto next = block; next != blocks.end() && next->address - segment.address < end; ++next) {
      if (next->size != 0 && mark(next->state) != cell) cell = '+';
    }
    map += cell;
  }
  return map;
}

}  // namespace tensorscope::text
