// A C++ program without Python that trains with Adam, with data in torch::data, and dumps in the middle of a step and
// after it. Writes what it knows to $TRUTH_DIR/NAME.json: for each storage what it is for.
#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "tensorscope/tensorscope.h"

namespace {

struct Truth {
  std::map<uintptr_t, std::pair<std::string, size_t>> storages;

  void add(const char* category, const torch::Tensor& tensor) {
    if (!tensor.defined() || tensor.nbytes() == 0) return;
    storages.try_emplace(uintptr_t(tensor.storage().data()), category, tensor.storage().nbytes());
  }

  void dump(const std::string& name) const {
    char path[4096] = "";
    if (tensorscope_try_dump(path, sizeof(path)) != TENSORSCOPE_OK) return;
    FILE* file = std::fopen((std::string(std::getenv("TRUTH_DIR")) + "/" + name + ".json").c_str(), "w");
    std::fprintf(file, "{\"dump\": \"%s\", \"storages\": {", path);
    const char* comma = "";
    for (const auto& [pointer, what] : storages) {
      std::fprintf(file, "%s\"%zu\": [\"%s\", %zu]", comma, size_t(pointer), what.first.c_str(), what.second);
      comma = ", ";
    }
    std::fprintf(file, "}}\n");
    std::fclose(file);
  }
};

}  // namespace

int main() {
  torch::manual_seed(0);
  at::set_num_threads(1);
  torch::nn::Sequential model(torch::nn::Linear(64, 256), torch::nn::BatchNorm1d(256), torch::nn::ReLU(),
                              torch::nn::Linear(256, 256), torch::nn::ReLU(), torch::nn::Linear(256, 10));
  torch::optim::Adam optimizer(model->parameters());
  const auto known = [&] {
    Truth truth;
    for (const torch::Tensor& parameter : model->parameters()) {
      truth.add("parameter", parameter);
      truth.add("gradient", parameter.grad());
    }
    for (const torch::Tensor& buffer : model->buffers()) truth.add("buffer", buffer);
    for (const auto& [parameter, state] : optimizer.state()) {
      const auto& adam = static_cast<const torch::optim::AdamParamState&>(*state);
      truth.add("optimizer state", adam.exp_avg());
      truth.add("optimizer state", adam.exp_avg_sq());
    }
    return truth;
  };
  for (int step = 0; step < 4; ++step) {
    optimizer.zero_grad();
    const torch::Tensor batch = torch::randn({64, 64}), labels = torch::randint(10, {64});
    torch::Tensor loss = torch::nn::functional::cross_entropy(model->forward(batch), labels);
    if (step == 2) known().dump("forward");
    loss.backward();
    optimizer.step();
  }
  known().dump("step");
  return 0;
}
