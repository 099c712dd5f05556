"""Autograd graph through a moving average (module buffer), with torch."""
# after: DINO-like self-distillation: the center is updated outside of no_grad, so that it drags the graphs of all steps
# fix: batch_center = teacher_out.detach().mean(0)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "loss_fn.center"  # loss_fn.center (grad_fn chain)
# lines = ["self.center = self.center * self.momentum + teacher_out.mean", "teacher_out = teacher(b)", "t.data = t.data * 0.99 + s * 0.01"]
# bytes = 204816  # 204816 (input 8192, hidden 32x256 before and after GELU 65536, and the teacher's old second weight 256x128 = 131072, made at :51 `t.data = ...` and saved by the graph; 16 B scalars)
# ///
import copy
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DinoLoss(nn.Module):
    def __init__(self, dim, momentum=0.9):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("center", torch.zeros(1, dim))

    def forward(self, student_out, teacher_out):
        t = F.softmax((teacher_out.detach() - self.center.detach()) / 0.04, -1)
        loss = -(t * F.log_softmax(student_out / 0.1, -1)).sum(-1).mean()
        if os.environ.get("FIX"):
            teacher_out = teacher_out.detach()
        self.center = self.center * self.momentum + teacher_out.mean(0, keepdim=True) * (1 - self.momentum)
        return loss


student = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 128))
teacher = copy.deepcopy(student)
loss_fn = DinoLoss(128)
optimizer = torch.optim.AdamW(student.parameters(), lr=1e-4)
for step in range(80):
    x = torch.randn(32, 64)
    a, b = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
    student_out = student(a)
    teacher_out = teacher(b)
    loss = loss_fn(student_out, teacher_out)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for s, t in zip(student.parameters(), teacher.parameters()):
            t.data = t.data * 0.99 + s * 0.01
print(round(loss.item(), 3))
