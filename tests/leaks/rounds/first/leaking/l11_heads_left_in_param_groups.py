"""A new head for each task is added to the optimizer; the old one is dropped from the model, and stays there."""
# after: ContinualAI/avalanche: kind of class-incremental training
# fix: a new optimizer for each task, or remove the old group and opt.state.pop(p)
# /// leak
# dumps = "steps"
# kinds = ["gone-parameters", "container", "module-cache"]
# holder = ["opt.param_groups", "Adam"]
# lines = ["opt.step()"]
# bytes = 99848  # 128 x 64 floats and 128: parameter (a third, of nn.Linear), two states of Adam; two steps
# ///
import torch
from torch import nn

torch.manual_seed(0)


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(64, 64)
        self.head = None

    def new_task(self, opt):
        self.head = nn.Linear(64, 128)
        opt.add_param_group({"params": self.head.parameters()})

    def forward(self, x):
        return self.head(self.backbone(x).relu())


learner = Learner()
opt = torch.optim.Adam(learner.backbone.parameters(), lr=1e-3)
for task in range(66):
    learner.new_task(opt)
    x = torch.randn(64, 64)
    y = torch.randint(0, 128, (64,))
    loss = nn.functional.cross_entropy(learner(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "groups", len(opt.param_groups))
