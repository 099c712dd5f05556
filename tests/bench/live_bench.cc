// SPDX-License-Identifier: Apache-2.0
// What one event costs the program, without stacks, and how long a snapshot stops it.
//
//   build/tests/bench/live_bench
//
// Pairs are given per event: "one pair" is two. `newest` makes and ends one object at an address that was just free, as
// a training loop does; `any` ends a random old object and makes it anew, so that nothing of it is in a cache.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "live/snapshot_view.h"
#include "live/tracker.h"
#include "stacks/capture.h"
#include "support/state.h"

namespace tensorscope::stacks {
Stack capture(uint64_t, HookFrame) { return {1, 1, nullptr}; }
bool python_is_still(StackId) { return true; }
bool python_runs_engine(StackId) { return false; }
StackId capture_python_part() { return 1; }
Stack capture_native_part(StackId python, uint64_t) { return {1, python}; }
Stack capture_in_any_case() { return {}; }
void stop_capturing() {}
void start_capturing() {}
NotRecorded not_recorded() { return {}; }
}  // namespace tensorscope::stacks

namespace tensorscope::live {
namespace {

constexpr uintptr_t kHeap = 0x7f0000000000;
constexpr uintptr_t kStride = 192;  // about sizeof(c10::TensorImpl)

const void* object(size_t i) { return reinterpret_cast<const void*>(kHeap + i * kStride); }

enum class Victim { newest, any };

void make_tensor(const void* address) { tensor_constructed(address); }
void end_tensor(const void* address) { tensor_destroyed(address); }
void make_allocation(const void* address) { cpu_allocated(address, 4096); }
void end_allocation(const void* address) { cpu_freed(address); }

template <void (*Make)(const void*), void (*End)(const void*), Victim kVictim>
void pair(benchmark::State& state) {
  start();
  g_state.store(State::recording);
  const auto live = size_t(state.range(0));
  for (size_t i = 0; i < live; ++i) Make(object(i));
  std::vector<uint32_t> victims(1 << 16);
  std::mt19937_64 random(1);
  for (uint32_t& victim : victims) victim = uint32_t(random() % live);
  size_t next = 0;
  for (auto _ : state) {
    if (kVictim == Victim::newest) {
      Make(object(live + next % 64));
      End(object(live + next % 64));
    } else {
      End(object(victims[next % victims.size()]));
      Make(object(victims[next % victims.size()]));
    }
    ++next;
  }
  state.counters["per_event"] =
      benchmark::Counter(double(state.iterations()) * 2, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  for (size_t i = 0; i < live; ++i) End(object(i));
}

BENCHMARK(pair<make_tensor, end_tensor, Victim::newest>)
    ->Name("tensor/newest")
    ->RangeMultiplier(10)
    ->Range(1000, 1000000);
BENCHMARK(pair<make_tensor, end_tensor, Victim::any>)->Name("tensor/any")->RangeMultiplier(10)->Range(1000, 1000000);
BENCHMARK(pair<make_allocation, end_allocation, Victim::newest>)
    ->Name("allocation/newest")
    ->RangeMultiplier(10)
    ->Range(1000, 1000000);
BENCHMARK(pair<make_allocation, end_allocation, Victim::any>)
    ->Name("allocation/any")
    ->RangeMultiplier(10)
    ->Range(1000, 1000000);

// Locks are held for "stopped_ms" of the time of take(). On a busy machine the median holds time slices of others.
void snapshot(benchmark::State& state) {
  start();
  g_state.store(State::recording);
  const auto live = size_t(state.range(0));
  for (size_t i = 0; i < live; ++i) {
    tensor_constructed(object(2 * i));
    cpu_allocated(object(2 * i + 1), 4096);
  }
  std::vector<uint64_t> stopped;
  for (auto _ : state) {
    SnapshotView view;
    if (!view.take()) return state.SkipWithError("no snapshot");
    stopped.push_back(view.stopped_ns);
  }
  std::sort(stopped.begin(), stopped.end());
  state.counters["stopped_ms_min"] = double(stopped.front()) / 1e6;
  state.counters["stopped_ms_p50"] = double(stopped[stopped.size() / 2]) / 1e6;
  state.counters["profiler_MB"] = double(profiler_memory()) / 1e6;
  for (size_t i = 0; i < live; ++i) {
    tensor_destroyed(object(2 * i));
    cpu_freed(object(2 * i + 1));
  }
}
BENCHMARK(snapshot)->Arg(1000)->Arg(100000)->Arg(1000000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tensorscope::live

BENCHMARK_MAIN();
