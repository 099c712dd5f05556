"""A second-order optimizer with backward(create_graph=True), whose gradients are set to None after each step."""
# /// healthy
# dumps = "steps"
# ///
import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")


class AdaHessian(torch.optim.Optimizer):
    def __init__(self, parameters, lr):
        super().__init__(list(parameters), {"lr": lr})

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
    loss.backward(create_graph=True)
    optimizer.step()
    optimizer.zero_grad()
