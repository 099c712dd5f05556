// A C++ program without Python that keeps autograd graphs: a model's loss, a custom function, an operation in place on
// a view, a graph that backward has emptied. Prints, for each node, what C++ can know of it, and exits.
#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

namespace {

struct Square : torch::autograd::Function<Square> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, torch::Tensor data) {
    context->save_for_backward({data, data});
    return data * data;
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list gradients) {
    return {2 * context->get_saved_variables()[0] * gradients[0]};
  }
};

using Node = torch::autograd::Node;

void print_graph(const Node* root) {
  std::set<const Node*> seen = {root};
  std::vector<const Node*> waiting = {root};
  while (!waiting.empty()) {
    const Node* node = waiting.back();
    waiting.pop_back();
    std::printf("node %llu %llu %s", (unsigned long long)(uintptr_t)node, (unsigned long long)node->sequence_nr(),
                node->name().c_str());
    for (const auto& edge : node->next_edges()) {
      const Node* next = edge.function.get();
      std::printf(" %llu:%u", (unsigned long long)(uintptr_t)next, edge.input_nr);
      if (next != nullptr && seen.insert(next).second) waiting.push_back(next);
    }
    std::printf("\n");
  }
}

void print_tensor(const char* name, const torch::Tensor& tensor) {
  std::printf("%s %llu\n", name, (unsigned long long)(uintptr_t)tensor.unsafeGetTensorImpl());
}

}  // namespace

int main() {
  torch::manual_seed(0);
  at::set_num_threads(1);
  torch::nn::Sequential model(torch::nn::Linear(4, 8), torch::nn::ReLU(), torch::nn::Linear(8, 2));
  const auto loss = model->forward(torch::randn({3, 4})).square().mean();
  const auto data = torch::randn({5}, torch::requires_grad());
  const auto squared = Square::apply(data);
  auto changed = torch::randn({4, 4}, torch::requires_grad()) * 1;
  changed[0].mul_(data.sum());
  const auto emptied = (data.exp() * data).sum();
  emptied.backward();

  print_tensor("data", data);
  for (const torch::Tensor& tensor : {loss, squared, changed, emptied}) print_graph(tensor.grad_fn().get());
  std::fflush(stdout);
  std::exit(0);
}
