// The cost of one native capture at the bottom of 45 frames.
//
// Repeated: from the same place. Alternating: from one of 64 call paths that share the outer 30 frames, in turn, as the
// operators of a training step do. Libunwind: the same, by unw_backtrace without interning. Calls alone: no capture, to
// be subtracted from the others.
#include <benchmark/benchmark.h>

#include "stacks/native/libunwind_loader.h"
#include "stacks/native/native_stack.h"
#include "support/options.h"

namespace tensorscope::stacks {
namespace {

Libunwind& libunwind() {
  static Libunwind& opened = *[] {
    auto* library = new Libunwind;
    library->open();
    return library;
  }();
  return opened;
}

using Capture = uint64_t (*)();
uint64_t by_nobody() { return 1; }
uint64_t by_us() { return capture_native(nullptr); }
uint64_t by_libunwind() {
  static void* addresses[1024];
  return uint64_t(libunwind().backtrace(addresses, 1024));
}

// Sixteen frames, each through one of two call sites, by the bits of `path`.
__attribute__((noinline)) uint64_t inner(Capture capture, uint32_t path, int depth) {
  uint64_t result;
  if (depth == 0) {
    result = capture();
  } else if ((path & 1) != 0) {
    result = inner(capture, path >> 1, depth - 1);
    asm volatile("" : "+r"(result));
  } else {
    result = inner(capture, path >> 1, depth - 1);
    asm volatile("nop" : "+r"(result));
  }
  return result + 1;
}

__attribute__((noinline)) void outer(benchmark::State& state, Capture capture, uint32_t paths, int depth) {
  if (depth > 0) {
    outer(state, capture, paths, depth - 1);
    asm volatile("" : : : "memory");
    return;
  }
  uint32_t path = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(inner(capture, path, 15));
    if (++path == paths) path = 0;
  }
}

void bench(benchmark::State& state, Capture capture, uint32_t paths) {
  parse_options();
  start_native();
  outer(state, capture, paths, 25);
  state.counters["left to libunwind"] = double(native_counts().by_libunwind);
}

BENCHMARK_CAPTURE(bench, calls_alone, by_nobody, 64);
BENCHMARK_CAPTURE(bench, repeated, by_us, 1);
BENCHMARK_CAPTURE(bench, alternating, by_us, 64);
BENCHMARK_CAPTURE(bench, libunwind_repeated, by_libunwind, 1);
BENCHMARK_CAPTURE(bench, libunwind_alternating, by_libunwind, 64);

}  // namespace
}  // namespace tensorscope::stacks

BENCHMARK_MAIN();
