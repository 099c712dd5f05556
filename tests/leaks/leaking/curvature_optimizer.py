"""A second-order optimizer keeps gradients with their graphs: they are set to zero through .data, and the next ones are added."""
# jettify/pytorch-optimizer#358: GPU memory leak in adahessian optimizer?
# kozistr/pytorch_optimizer#278: SophiaH implementation is not correct
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached"]
# holder = ".grad"
# lines = ["hidden = ", "loss = ", "x = ", "loss.backward(", "curvatures = "]
# bytes = [32768, 200000]  # x and the hidden layer of 64 x 64 floats each, and what the graph of the backward pass saved
# ///
import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")


class AdaHessian(torch.optim.Optimizer):
    def __init__(self, parameters, lr):
        super().__init__(list(parameters), {"lr": lr})

    def zero_grad(self, set_to_none=True):
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad.data.zero_()

    def step(self, closure=None):
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        gradients = [parameter.grad for parameter in parameters]
        signs = [torch.randint_like(parameter, 2) * 2 - 1 for parameter in parameters]
        curvatures = torch.autograd.grad(gradients, parameters, grad_outputs=signs, retain_graph=True)
        for parameter, gradient, curvature in zip(parameters, gradients, curvatures):
            parameter.data -= 0.01 * gradient.data / (curvature.abs() + 1)


first, second = nn.Linear(64, 64), nn.Linear(64, 1)
optimizer = AdaHessian([*first.parameters(), *second.parameters()], lr=0.01)
for step in range(60):
    x = torch.randn(64, 64)
    hidden = torch.tanh(first(x))
    loss = second(hidden).square().mean()
    optimizer.zero_grad()
    loss.backward(create_graph=True)
    optimizer.step()
