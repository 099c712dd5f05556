"""update_center() without no_grad(): the running centre keeps the graph of every pass of the teacher."""
# after: facebookresearch/dino: pattern of its loss
# fix: update_center under torch.no_grad() / self.center = (...).detach(), or teacher under no_grad
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached"]
# holder = "loss_fn.center"
# lines = ["loss = loss_fn(student(x), teacher(x))"]
# bytes = 196608  # 128 x 128 floats of x (65,536), 128 x 256 of the teacher's tanh (131,072)
# ///
import copy
import torch
from torch import nn

torch.manual_seed(0)


class DinoLoss(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("center", torch.zeros(1, dim))

    def forward(self, student_out, teacher_out):
        target = torch.softmax((teacher_out - self.center) / 0.1, -1).detach()
        loss = -(target * torch.log_softmax(student_out, -1)).sum(-1).mean()
        self.update_center(teacher_out)
        return loss

    def update_center(self, teacher_out):
        batch_center = teacher_out.mean(0, keepdim=True)
        self.center = self.center * 0.9 + batch_center * 0.1


student = nn.Sequential(nn.Linear(128, 256), nn.Tanh(), nn.Linear(256, 64))
teacher = copy.deepcopy(student)
loss_fn = DinoLoss(64)
opt = torch.optim.SGD(student.parameters(), lr=0.01)
for step in range(66):
    x = torch.randn(128, 128)
    loss = loss_fn(student(x), teacher(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.mul_(0.99).add_(s, alpha=0.01)
print("loss", loss.item())
