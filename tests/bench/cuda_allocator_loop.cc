// SPDX-License-Identifier: Apache-2.0
// What tests/bench/cuda_speed.py times: threads that allocate and free through torch's own caching allocator. Compiled
// by that script against the headers of the torch under test, and loaded into a process that has torch.
#include <c10/core/Allocator.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace {

// A few blocks live at once, of sizes that differ; each new one takes the place of the oldest.
void pairs(c10::Allocator* allocator, size_t count, size_t nbytes) {
  constexpr size_t kKept = 8;
  c10::DataPtr kept[kKept];
  for (size_t i = 0; i < count; ++i) kept[i % kKept] = allocator->allocate(nbytes + i % 16 * 512);
}

}  // namespace

// Nanoseconds of wall time for `count` pairs in each of `threads` threads; 0 threads: in the caller's.
extern "C" double allocator_loop(int threads, size_t count, size_t nbytes) {
  c10::Allocator* const allocator = c10::GetAllocator(c10::DeviceType::CUDA);
  using Clock = std::chrono::steady_clock;
  const auto ns_since = [](Clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  };
  if (threads == 0) {
    const auto begin = Clock::now();
    pairs(allocator, count, nbytes);
    return ns_since(begin);
  }
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      allocator->allocate(nbytes);  // the thread's device and the profiler's row of it
      ++ready;
      while (!go) std::this_thread::yield();
      pairs(allocator, count, nbytes);
    });
  }
  while (ready < threads) std::this_thread::yield();
  const auto begin = Clock::now();
  go = true;
  for (std::thread& thread : all) thread.join();
  return ns_since(begin);
}
