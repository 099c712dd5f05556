// Tensors made below functions of the standard library that are inlined: algorithms, containers, std::function.
#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <vector>

namespace {

std::vector<at::Tensor> kept;

struct Maker {
  at::Tensor made;
  explicit Maker(int size) : made(at::zeros({size})) {}  // Maker
};
std::vector<Maker> makers;

}  // namespace

[[gnu::noinline]] void emplaces() {
  kept.emplace_back(at::zeros({1000}));  // emplaces
}

[[gnu::noinline]] void transforms() {
  const std::vector<int> sizes{2000, 2001};
  std::transform(sizes.begin(), sizes.end(), std::back_inserter(kept),
                 [](int size) { return at::zeros({size}); });  // transforms
}

[[gnu::noinline]] void constructs() { makers.emplace_back(3000); }

[[gnu::noinline]] void calls() {
  const std::function<at::Tensor(int)> make = [](int size) { return at::ones({size}); };  // calls
  kept.push_back(make(4000));
}

int main() {
  emplaces();
  transforms();
  constructs();
  calls();
  return 0;
}
