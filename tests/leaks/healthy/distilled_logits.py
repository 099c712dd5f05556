"""Distillation: the teacher's logits of each of sixteen batches are computed in the first epoch and used in all others."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

teacher = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 32)).eval().requires_grad_(False)
student = nn.Linear(64, 32)
optimizer = torch.optim.Adam(student.parameters())
batches = [torch.randn(128, 64) for _ in range(16)]
teacher_logits = {}
for step in range(60):
    number = step % len(batches)
    if number not in teacher_logits:
        teacher_logits[number] = teacher(batches[number])
    wanted = (teacher_logits[number] / 2).softmax(1)
    loss = nn.functional.kl_div((student(batches[number]) / 2).log_softmax(1), wanted, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
