"""ModuleList of parametrizations with buffers, with torch.nn.utils.parametrize."""
# after: "register_parametrization in the training loop: each one comes on top of the others" (forum, parametrize)
# fix: parametrize.remove_parametrizations(layer, 'weight', leave_parametrized=False) after the step
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "layer.parametrizations.weight"  # layer.parametrizations.weight (ParametrizationList: one module with a buffer `noise` a step)
# lines = ["self.register_buffer(\"noise\", std * torch.randn_like(like))"]
# bytes = 49152  # 128*96*4 = 48 KiB of tensors a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 48.0, 48.0; all malloc'd 53.0, 52.1 (with FIX: 0.0, 0.0; 0.6, -0.3)
# ///
import os
import torch
from torch import nn
from torch.nn.utils import parametrize

torch.manual_seed(0)


class WeightNoise(nn.Module):
    def __init__(self, like, std):
        super().__init__()
        self.register_buffer("noise", std * torch.randn_like(like))

    def forward(self, weight):
        return weight + self.noise


layer = nn.Linear(96, 128)
head = nn.Linear(128, 4)
opt = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=1e-3)
for step in range(1, 91):
    with torch.no_grad():
        like = layer.weight.detach()
    parametrize.register_parametrization(layer, "weight", WeightNoise(like, 1e-3))
    x = torch.randn(64, 96)
    loss = nn.functional.cross_entropy(head(torch.relu(layer(x))), x[:, :4].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if os.environ.get("FIX"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    if step % 30 == 0:
        print(step, round(loss.item(), 4), flush=True)
