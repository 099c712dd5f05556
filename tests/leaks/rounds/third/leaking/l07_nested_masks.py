"""Pruning adds one more mask to a parametrization in each step."""
# after: pytorch/pytorch: register_parametrization again and again
# fix: one parametrization whose mask is updated in place (mask.mul_(new)), or remove_parametrizations before registering again
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "parametrizations.weight"
# lines = ["mask = (w.abs() > threshold).float()"]
# bytes = 102400  # 160 x 160 floats
# ///
import torch
from torch.nn.utils import parametrize

torch.manual_seed(0)
torch.set_num_threads(1)


class Mask(torch.nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, w):
        return w * self.mask


def prune_more(layer, fraction):
    w = layer.weight.detach()
    threshold = w.abs().flatten().kthvalue(max(1, int(fraction * w.numel()))).values
    mask = (w.abs() > threshold).float()
    parametrize.register_parametrization(layer, "weight", Mask(mask))


model = torch.nn.Sequential(torch.nn.Linear(160, 160), torch.nn.ReLU(), torch.nn.Linear(160, 10))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(66):
    x, y = torch.randn(16, 160), torch.randint(0, 10, (16,))
    loss = torch.nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    prune_more(model[0], 0.01 * step)
print("zeros", (model[0].weight == 0).float().mean().item())
