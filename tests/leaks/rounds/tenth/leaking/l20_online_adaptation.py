"""Online adaptation with torch.func: the fast weights go on from request to request and keep their history."""
# kind: Autograd graph through functional updates, carried in an attribute; no optimizer, with torch.func.
# after: "torch.func / MAML: memory grows with inner steps, params not detached"
# fix: detach the new fast weights (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["state-not-detached", "accumulated-graph", "container", "module-cache"]
# holder = "adapter.fast"  # `adapter.fast` (dict of tensors; their grad_fn chain)
# lines = ["loss = nn.functional.mse_loss(functional_call(self.net, self", "grads = torch.autograd.grad(loss, list(self.fast.values()),", "self.fast = {k: p - 0.01 * g for (k, p), g in zip(self.fast."]
# bytes = 23040  # each step keeps what the inner forward and its double backward save: measured by walking the graph 22.5 KiB of tensors a step (29 graph nodes a step; malloc in use 49 KiB with them)
# ///
import os

import torch
from torch import nn
from torch.func import functional_call

from ask import at

torch.set_num_threads(1)


class Adapter:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4))
        self.fast = dict(self.net.named_parameters())

    def adapt(self, x, y):
        loss = nn.functional.mse_loss(functional_call(self.net, self.fast, (x,)), y)
        grads = torch.autograd.grad(loss, list(self.fast.values()), create_graph=True)
        self.fast = {k: p - 0.01 * g for (k, p), g in zip(self.fast.items(), grads)}
        if os.environ.get("FIX"):
            self.fast = {k: p.detach().requires_grad_() for k, p in self.fast.items()}
        return loss.item()


def main():
    torch.manual_seed(0)
    adapter = Adapter()
    mean = 0.0
    for i in range(1, 81):
        x = torch.randn(64, 16)
        mean = 0.9 * mean + 0.1 * adapter.adapt(x, x[:, :4])
        at(i)
    print("mean", mean)


if __name__ == "__main__":
    main()
