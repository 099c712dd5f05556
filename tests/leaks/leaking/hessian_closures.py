"""Trust region steps build a closure for the product with the Hessian; a debug list of these keeps their graphs."""
# rlworkgroup/garage#2342: Memory leak on trpo algorithm(pytorch)
# /// leak
# dumps = "requests"
# kinds = ["accumulated-graph", "container"]
# holder = "hessian_products"
# lines = ["gradients = torch.autograd.grad(", "observations = torch.randn(", "logits = policy(", "divergence = "]
# bytes = [20000, 200000]
# ///
import sys

import torch
from torch import nn


class ConjugateGradient:
    def __init__(self):
        self.hessian_products = []

    def step(self, divergence, parameters):
        gradients = torch.autograd.grad(divergence, parameters, create_graph=True)
        flat = torch.cat([gradient.flatten() for gradient in gradients])

        def product(vector):
            return torch.autograd.grad(flat @ vector, parameters, retain_graph=True)

        self.hessian_products.append(product)
        return sum(part.square().sum() for part in product(torch.ones_like(flat)))


policy = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 4))
optimizer = ConjugateGradient()
for line in sys.stdin:
    observations = torch.randn(64, 16)
    logits = policy(observations).log_softmax(1)
    divergence = (logits.detach().exp() * (logits.detach() - logits)).sum(1).mean() + logits.square().mean()
    print(optimizer.step(divergence, list(policy.parameters())).item(), flush=True)
