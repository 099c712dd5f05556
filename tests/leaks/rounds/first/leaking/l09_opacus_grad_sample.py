"""zero_grad() of a plain optimizer clears p.grad, but p.grad_sample of opacus becomes a list that is appended to."""
# after: pytorch/opacus: GradSampleModule with a plain optimizer
# fix: model.zero_grad() (GradSampleModule's clears both), or DPOptimizer
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "grad_sample"
# lines = ["loss.backward()"]
# bytes = 154240  # 16 samples x 2,410 parameters, floats
# ///
import torch
from torch import nn
from opacus.grad_sample import GradSampleModule

torch.manual_seed(0)
model = GradSampleModule(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
criterion = nn.CrossEntropyLoss()


def batch():
    return torch.randn(16, 64), torch.randint(0, 10, (16,))


def train_step():
    x, y = batch()
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


history = 0.0
for step in range(66):
    history = 0.9 * history + 0.1 * train_step()
print("loss", history)
