"""MAML: three inner steps of fast weights with create_graph, an outer loss through all of them."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from torch.func import functional_call

model = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters())
for step in range(60):
    outer = 0.0
    for task in range(2):
        fast = dict(model.named_parameters())
        x, y = torch.randn(64, 32), torch.randn(64, 1)
        for _ in range(3):
            inner = nn.functional.mse_loss(functional_call(model, fast, x), y)
            gradients = torch.autograd.grad(inner, list(fast.values()), create_graph=True)
            fast = {name: weight - 0.01 * gradient for (name, weight), gradient in zip(fast.items(), gradients)}
        outer = outer + nn.functional.mse_loss(functional_call(model, fast, x), y)
    optimizer.zero_grad()
    outer.backward()
    optimizer.step()
