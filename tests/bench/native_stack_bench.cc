// SPDX-License-Identifier: Apache-2.0
// The cost of one native capture at the bottom of 45 frames.
//
// Repeated: from the same place. Alternating: from one of 64 call paths that share the outer 30 frames, in turn, as the
// operators of a training step do. Left to libunwind: what a capture costs that the rules cannot make, without
// interning; on a fiber: where the end of the stack is not known. Unw_backtrace: libunwind's own function. Calls alone:
// no capture, to be subtracted from the others.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstring>

#include "stacks/native/libunwind_loader.h"
#include "stacks/native/native_stack.h"
#include "stacks/thread_stack.h"
#include "support/options.h"

namespace tensorscope::stacks {
namespace {

Libunwind& libunwind() {
  static Libunwind& opened = *[] {
    auto* library = new Libunwind;
    if (const Status status = library->open(); !status) fprintf(stderr, "%s\n", status.why());
    return library;
  }();
  return opened;
}

using Capture = uint64_t (*)();
uint64_t by_nobody() { return 1; }
uint64_t by_us() { return capture_native(nullptr); }
template <bool kKnownStack>
uint64_t by_libunwind() {
  static void* addresses[1024];
  static const uint64_t stack_end = kKnownStack ? ThreadStack::current()->high : 0;
  return uint64_t(libunwind().backtrace(addresses, 1024, stack_end));
}
uint64_t by_unw_backtrace() {
  static void* addresses[1024];
  static const auto backtrace =
      reinterpret_cast<int (*)(void**, int)>(dlsym(dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL), "unw_backtrace"));
  return uint64_t(backtrace(addresses, 1024));
}

// Through code that no unwind table describes, as a just-in-time compiler makes it.
template <Capture kCapture>
uint64_t through_generated_code() {
  static const auto call = [] {
    constexpr uint8_t kCallArgument[] = {0x55, 0x48, 0x89, 0xe5,
                                         0xff, 0xd7, 0x5d, 0xc3};  // push; mov; call *%rdi; pop; ret
    void* code = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, kCallArgument, sizeof kCallArgument);
    return reinterpret_cast<uint64_t (*)(Capture)>(code);
  }();
  return call(kCapture);
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
BENCHMARK_CAPTURE(bench, left_to_libunwind_repeated, by_libunwind<true>, 1);
BENCHMARK_CAPTURE(bench, left_to_libunwind_alternating, by_libunwind<true>, 64);
BENCHMARK_CAPTURE(bench, left_to_libunwind_on_a_fiber, by_libunwind<false>, 64);
BENCHMARK_CAPTURE(bench, through_generated_code, through_generated_code<by_us>, 64);
BENCHMARK_CAPTURE(bench, unw_backtrace_through_generated_code, through_generated_code<by_unw_backtrace>, 64);
BENCHMARK_CAPTURE(bench, unw_backtrace_repeated, by_unw_backtrace, 1);
BENCHMARK_CAPTURE(bench, unw_backtrace_alternating, by_unw_backtrace, 64);

}  // namespace
}  // namespace tensorscope::stacks

BENCHMARK_MAIN();
