// A LibTorch program that makes a NaN in one named function: forward, or the backward of a square root at zero.
#include <torch/torch.h>

#include <cstdio>
#include <cstring>

extern "C" __attribute__((noinline)) torch::Tensor make_nan(const torch::Tensor& x) { return torch::log(x - 2); }

int main(int argc, char** argv) {
  torch::manual_seed(0);
  const bool forward = argc > 1 && strcmp(argv[1], "forward") == 0;
  torch::nn::Linear layer(8, 4);
  torch::optim::SGD optimizer(layer->parameters(), 0.1);
  for (int step = 0; step < 2; ++step) {
    torch::Tensor y = torch::tanh(layer(torch::randn({16, 8})));
    y = forward ? make_nan(y) : torch::sqrt(y - y);
    y.sum().backward();
    optimizer.step();
    optimizer.zero_grad();
  }
  std::printf("%f\nend\n", layer->bias.sum().item<float>());
}
