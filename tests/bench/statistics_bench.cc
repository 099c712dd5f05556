// SPDX-License-Identifier: Apache-2.0
// What the statistics of a tensor cost for each element: of float32 about 0, of float32 far from 0 (whose distances are
// taken one by one), and of bfloat16. Argument: elements.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "tensor_values/statistics.h"

namespace tensorscope::tensor_values {
namespace {

constexpr int kFloat32 = 6, kBfloat16 = 15;

template <typename T>
void measure(benchmark::State& state, const std::vector<T>& data, int dtype) {
  const auto numel = int64_t(data.size()), stride = int64_t{1};
  const TensorView view = {data.data(), &numel, &stride, numel, 1, dtype, int(sizeof(T)), true};
  for (auto _ : state) {
    Statistics out;
    benchmark::DoNotOptimize(statistics_of(view, out));
    benchmark::DoNotOptimize(out);
  }
  state.SetItemsProcessed(state.iterations() * numel);
  state.SetBytesProcessed(state.iterations() * numel * int64_t(sizeof(T)));
}

void float32(benchmark::State& state, float mean) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(mean, 1);
  std::vector<float> data(size_t(state.range(0)));
  for (float& x : data) x = normal(random);
  measure(state, data, kFloat32);
}

void bfloat16(benchmark::State& state) {
  std::mt19937 random(1);
  std::vector<uint16_t> data(size_t(state.range(0)));
  for (uint16_t& x : data) x = uint16_t(random() % 0x8000 + 0x3000) & 0xbfff;
  measure(state, data, kBfloat16);
}

BENCHMARK_CAPTURE(float32, about_0, 0.0F)->Arg(1 << 16)->Arg(1 << 26);
BENCHMARK_CAPTURE(float32, far_from_0, 1e5F)->Arg(1 << 16);
BENCHMARK(bfloat16)->Arg(1 << 16);

}  // namespace
}  // namespace tensorscope::tensor_values

BENCHMARK_MAIN();
