// A C++ program without Python in which memory runs out, of the device that its first argument names (cpu, cuda):
// caught twice, and where there is a second argument once more, uncaught.
#include <ATen/ATen.h>
#include <sys/resource.h>

#include <cstdio>
#include <vector>

namespace {

__attribute__((noinline)) at::Tensor fails(const at::Tensor& x) {
  const at::Tensor temporary = x + 1;
  const at::Tensor too_much = at::empty({int64_t{1} << 40}, x.options().dtype(at::kByte));
  return too_much + temporary.sum();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<at::Tensor> kept;
  for (int i = 0; i < 10; ++i) kept.push_back(at::ones({1000}, at::TensorOptions(at::Device(argv[1]))));
  const rlimit limit{rlim_t{1} << 39, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
  for (int i = 0; i < 2; ++i) {
    try {
      fails(kept[0]);
    } catch (const c10::OutOfMemoryError& error) {
      std::printf("device: %s\n", error.what_without_backtrace());
    } catch (const c10::Error& error) {
      std::printf("host: %s\n", error.what_without_backtrace());
    }
  }
  std::fflush(stdout);
  if (argc > 2) fails(kept[0]);
  return 0;
}
