// SPDX-License-Identifier: Apache-2.0
#include "values_file/source_places.h"

#include <atomic>

#include "dump/places.h"
#include "support/fresh_in_child.h"
#include "support/process_info.h"
#include "values_file/value_store.h"

namespace tensorscope::values_file {

namespace {

// Stack to text, each a half of a word. Texts have other numbers in a child's file.
constexpr size_t kPlaces = 4096;
struct Places {
  std::atomic<uint64_t> known[kPlaces];
};
constinit Places g_places;
FreshInChild g_fresh_places{g_places};

}  // namespace

uint32_t source_place_of(StackId stack) {
  static_assert(sizeof stack == sizeof(uint32_t));
  if (stack == 0) return 0;
  std::atomic<uint64_t>& known = g_places.known[stack % kPlaces];
  const uint64_t seen = known.load(std::memory_order_relaxed);
  if (seen >> 32 == stack) return uint32_t(seen);
  char text[dump::kPlaceBytes] = "";
  live::SiteCounters site = {};
  site.python = stack;
  dump::write_place(dump::headline(site), process_info().directory, text);
  const uint32_t id = text_id(text);
  known.store(uint64_t{stack} << 32 | id, std::memory_order_relaxed);
  return id;
}

}  // namespace tensorscope::values_file
