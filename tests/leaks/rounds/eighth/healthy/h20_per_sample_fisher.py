"""`fisher` is made once (in step 1) and added to in place; per-sample gradients are temporary."""
# report: "torch.func.vmap(grad) leaks": per-sample gradients are reduced into an accumulator
# looks like: big temporary memory of each step; accumulation over all steps
# library: torch.func
# /// healthy
# dumps = "steps"
# ///
import torch
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(32, 48), torch.nn.Tanh(), torch.nn.Linear(48, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
fisher = {}


def sample_loss(params, x, y):
    return torch.nn.functional.cross_entropy(functional_call(net, params, (x[None],)), y[None])


per_sample = vmap(grad(sample_loss), in_dims=(None, 0, 0))
for step in range(70):
    x, y = torch.randn(32, 32), torch.randint(0, 4, (32,))
    params = {k: v.detach() for k, v in net.named_parameters()}
    for name, g in per_sample(params, x, y).items():
        fisher.setdefault(name, torch.zeros_like(params[name])).add_(g.pow(2).mean(0))
    loss = torch.nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print({k: v.sum().item() for k, v in fisher.items()})
