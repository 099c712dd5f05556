// A C++ program that works while nothing is left of something (exhausts_early.c), prints what came of it, and then,
// with everything given back, works again. Asks for a dump when all is given back, and before where it has an argument.
#include <ATen/ATen.h>

#include <cstdio>
#include <vector>

#include "../../include/tensorscope/tensorscope.h"

extern "C" __attribute__((weak)) void exhausted_give_back();

namespace {

// Tensors, a graph and an exception of torch's.
double work() {
  std::vector<at::Tensor> kept;
  const at::Tensor weight = at::ones({8, 8}).requires_grad_(true);
  for (int i = 0; i < 50; ++i) kept.push_back((weight * double(i)).sum());
  try {
    at::ones({2, 3}).matmul(at::ones({2, 3}));
  } catch (const c10::Error&) {
    kept.push_back(at::ones({}));
  }
  double sum = 0;
  for (const at::Tensor& each : kept) sum += each.item<double>();
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const at::Tensor kept = at::ones({123});
  std::printf("sum %g\n", work());
  if (tensorscope_is_active() && argc > 1) tensorscope_try_dump(nullptr, 0);
  if (exhausted_give_back) exhausted_give_back();
  if (tensorscope_is_active()) tensorscope_try_dump(nullptr, 0);
  std::printf("sum %g\n", work());
  return 0;
}
