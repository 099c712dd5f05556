// A C++ program without Python: a small training loop, a static tensor, and an end in the way its argument says:
// `return`, `exit` (calls exit(3) inside main) or `wait FILE` (trains until FILE appears). Prints what it knows of its
// tensors.
#include <sys/stat.h>
#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

static torch::Tensor g_static = {};

namespace {

__attribute__((noinline)) torch::Tensor make_leak(int step) { return torch::full({16, 16}, double(step)); }

void print_address(const char* name, const torch::Tensor& tensor) {
  std::printf("%s %llu\n", name, (unsigned long long)(uintptr_t)tensor.unsafeGetTensorImpl());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "return";
  torch::manual_seed(0);
  at::set_num_threads(1);
  g_static = torch::ones({33});
  torch::nn::Sequential model(torch::nn::Linear(16, 32), torch::nn::ReLU(), torch::nn::Linear(32, 4));
  torch::optim::Adam optimizer(model->parameters());
  std::vector<torch::Tensor> leak;
  const auto train = [&](int step) {
    optimizer.zero_grad();
    auto loss = model->forward(torch::randn({8, 16})).square().mean();
    loss.backward();
    optimizer.step();
    if (leak.size() < 100) leak.push_back(make_leak(step));
    return loss;
  };
  torch::Tensor loss;
  for (int step = 0; step < 20; ++step) loss = train(step);
  print_address("static", g_static);
  print_address("loss", loss);
  for (const auto& parameter : model->named_parameters()) print_address(parameter.key().c_str(), parameter.value());
  std::printf("leak %zu\n", leak.size());
  std::fflush(stdout);
  if (how == "wait") {
    struct stat status {};
    for (int step = 20; stat(argv[2], &status) != 0; ++step) train(step);
    std::printf("leak %zu\n", leak.size());
  }
  if (how == "exit") std::exit(3);
  return 0;
}
