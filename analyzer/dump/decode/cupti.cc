// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/cupti.h"

#include <algorithm>
#include <vector>

#include "dump/decode/decoding.h"
#include "dump/sum_guard.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

constexpr int8_t kCuda = 1;  // c10::DeviceType

bool on_host(format::DriverMemoryKind kind) {
  return kind == format::DriverMemoryKind::pageable || kind == format::DriverMemoryKind::pinned;
}

}  // namespace

void decode_driver_memory(const format::DriverMemory& in, Decoding& state) {
  DriverMemory& out = state.dump.driver_memory;
  out.present = true;
  out.began_ns = in.began_ns();
  out.ended_ns = in.ended_ns();
  out.allocations = in.allocations();
  out.releases = in.releases();
  out.unknown_releases = in.unknown_releases();
  out.lost = in.lost();
  out.version = in.version();
  out.flushed = in.flushed();
  if (!in.values()) return;
  for (const format::DriverBlock* row : *in.values()) {
    uint64_t end = 0;
    if (row->kind() > format::DriverMemoryKind::MAX ||
        __builtin_add_overflow(row->pointer(), std::max<uint64_t>(row->nbytes(), 1), &end)) {
      state.count("invalid driver blocks");
      continue;
    }
    const Device device =
        on_host(row->kind()) || row->device_index() < 0 ? Device{0, -1} : Device{kCuda, row->device_index()};
    out.blocks.push_back({row->pointer(), row->nbytes(), row->created_ns(), row->process(), row->context(),
                          row->stream(), row->site(), uint8_t(row->kind()), row->asynchronous() != 0, device});
  }
}

void decode_launches(const format::Launches& in, Decoding& state) {
  state.dump.launches_known = true;
  if (!in.values()) return;
  for (const format::SiteLaunches* row : *in.values()) {
    state.dump.launches.push_back(
        {{row->kernels(), row->kernel_ns(), row->copies(), row->copied_bytes(), row->copy_ns(), row->to_device_bytes(),
          row->to_host_bytes(), row->fills(), row->filled_bytes(), row->fill_ns()},
         row->site()});
  }
}

void finish_cupti(Decoding& state) {
  std::vector<DriverBlock>& blocks = state.dump.driver_memory.blocks;
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const DriverBlock& a, const DriverBlock& b) { return a.pointer < b.pointer; });
  const auto twice = std::unique(blocks.begin(), blocks.end(), [](const DriverBlock& a, const DriverBlock& b) {
    return a.pointer == b.pointer && a.pointer != 0;
  });
  if (twice != blocks.end()) state.count("blocks of the driver listed twice", uint64_t(blocks.end() - twice));
  blocks.erase(twice, blocks.end());
  SumGuard bytes;
  uint32_t no_thread = 0;
  for (DriverBlock& block : blocks) {
    state.check_row(block.site, no_thread, block.created_ns);
    if (!bytes.admits(block.nbytes)) block.nbytes = 0, state.count("blocks of the driver of an impossible size");
  }
  SumGuard numbers;
  uint64_t no_time = 0;
  std::erase_if(state.dump.launches, [&](SiteLaunches& row) {
    state.check_row(row.site, no_thread, no_time);
    for (const uint64_t number : {row.kernels, row.kernel_ns, row.copies, row.copied_bytes, row.copy_ns,
                                  row.to_device_bytes, row.to_host_bytes, row.fills, row.filled_bytes, row.fill_ns}) {
      if (numbers.admits(number)) continue;
      state.count("sites with impossible numbers of kernels and copies");
      return true;
    }
    return false;
  });
  std::stable_sort(state.dump.launches.begin(), state.dump.launches.end(),
                   [](const SiteLaunches& a, const SiteLaunches& b) { return a.site < b.site; });
}

}  // namespace tensorscope::analyzer
