"""Lazy experts (nn.LazyLinear) of a mixture come into use one after another, the last at step 42: weights, gradients and Adam's state appear then."""
# bytes a step: 0 after step 42 (before: every 6 steps one expert 128*64*4 * 4); all are parameters of the model in opt.param_groups
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

torch.manual_seed(0)


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(32, 64)
        self.experts = nn.ModuleList(nn.LazyLinear(128) for _ in range(8))
        self.head = nn.Linear(128, 4)

    def forward(self, x, expert):
        return self.head(self.experts[expert](self.stem(x).relu()).relu())


model = Mixture()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(66):
    newest = min(step // 6, 7)
    expert = newest if step % 2 == 0 else int(torch.randint(0, newest + 1, (1,)))
    x = torch.randn(64, 32)
    y = torch.randint(0, 4, (64,))
    loss = nn.functional.cross_entropy(model(x, expert), y)
    opt.zero_grad(set_to_none=False)
    loss.backward()
    opt.step()
print("loss", loss.item(), len(opt.state))
