"""Linked list of modules."""
# after: forum "knowledge distillation over generations: memory grows with each generation" (each student keeps its teacher)
# fix: teacher.teacher = None before it becomes a teacher
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "student.teacher"  # student.teacher (student.teacher.teacher..., the whole chain by its first link)
# lines = ["self.body = nn.Sequential(nn.Linear(32, 96), nn.ReLU(), nn.L", "loss.backward()"]
# bytes = 25088  # every second step 6272 parameters * 4 and their gradients
# ///
import os
import torch
from torch import nn

torch.manual_seed(0)


class Student(nn.Module):
    def __init__(self, teacher=None):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(32, 96), nn.ReLU(), nn.Linear(96, 32))
        self.__dict__["teacher"] = teacher  # not a submodule: its parameters are not trained

    def loss(self, x):
        y = self.body(x)
        if self.teacher is None:
            return (y - x).pow(2).mean()
        with torch.no_grad():
            soft = self.teacher.body(x)
        return (y - soft).pow(2).mean() + 0.1 * (y - x).pow(2).mean()


student = Student()
opt = torch.optim.SGD(student.parameters(), lr=0.05)
for step in range(66):
    loss = student.loss(torch.randn(64, 32))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 2 == 1:  # next generation
        if os.environ.get("FIX"):
            student.teacher = None
        student = Student(teacher=student)
        student.body.load_state_dict(student.teacher.body.state_dict())
        opt = torch.optim.SGD(student.parameters(), lr=0.05)
