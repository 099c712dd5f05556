"""Self-distillation with a centre of the teacher's outputs; the teacher runs without no_grad, the centre is an average with history."""
# kind: Autograd graph of every step through a buffer's moving average, with torch.
# after: "DINO loss: memory grows every iteration, center buffer keeps the graph"
# fix: `with torch.no_grad()` around the teacher (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "criterion.center"  # `criterion.center` (a buffer; its grad_fn chain reaches every step's teacher forward)
# lines = ["t = teacher(x + 0.1 * torch.randn_like(x))"]
# bytes = 81920  # each step keeps the teacher's saved tensors: input 128 x 64 (32768), hidden tanh 128 x 96 (49152), and the weights, which are no copies: 81920; small ones of the chain are views; measured 80.0 KiB (9 graph nodes a step; malloc in use 89 KiB)
# ///
import contextlib
import os

import torch
from torch import nn


class Distill(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("center", torch.zeros(dim))

    def forward(self, student, teacher):
        target = ((teacher - self.center) / 0.05).softmax(-1).detach()
        loss = -(target * (student / 0.1).log_softmax(-1)).sum(-1).mean()
        self.center = 0.9 * self.center + 0.1 * teacher.mean(0)
        return loss


def net():
    return nn.Sequential(nn.Linear(64, 96), nn.Tanh(), nn.Linear(96, 48))


def main():
    torch.manual_seed(0)
    student, teacher = net(), net()
    teacher.load_state_dict(student.state_dict())
    criterion = Distill(48)
    opt = torch.optim.SGD(student.parameters(), lr=0.01)
    for step in range(1, 81):
        x = torch.randn(128, 64)
        with torch.no_grad() if os.environ.get("FIX") else contextlib.nullcontext():
            t = teacher(x + 0.1 * torch.randn_like(x))
        loss = criterion(student(x), t)
        opt.zero_grad()
        loss.backward()
        opt.step()
        for p, q in zip(teacher.parameters(), student.parameters()):
            p.data.mul_(0.99).add_(q.data, alpha=0.01)
    print("center", criterion.center.norm().item(), loss.item())


if __name__ == "__main__":
    main()
