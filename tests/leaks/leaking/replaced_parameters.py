"""Points are added by making a longer parameter; the optimizer's state of the old one is never deleted."""
# nerfstudio-project/gsplat#931: Drop stale param refs in _update_param_with_optimizer to cut VRAM spike
# pytorch/pytorch#42428: KeyError: xxxxxxxxxx when calling optimizer.state_dict()
# /// leak
# dumps = "steps"
# kinds = ["gone-parameters"]
# holder = "optimizer"
# lines = ["longer = ", "optimizer.step()", "loss.backward()"]
# bytes = [40000, 60000]  # points, two moments and the last gradient of 64 to 180 rows of 16 floats
# ///
import torch
from torch import nn


class Scene(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.points = nn.Parameter(torch.randn(count, 16))

    def densify(self, optimizer, count):
        longer = torch.cat([self.points.data, torch.randn(count, 16)])
        self.points = nn.Parameter(longer)
        optimizer.param_groups[0]["params"] = [self.points]


scene = Scene(128)
optimizer = torch.optim.Adam(scene.parameters(), lr=0.01)
for step in range(60):
    loss = scene.points.square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scene.densify(optimizer, 2)
print(len(optimizer.state))
