"""KL terms of a Bayesian network, summed over the whole training."""
# kind: running sum with graph, with blitz-bayesian-pytorch
# after: "complexity cost accumulates: kl_total += model.nn_kl_divergence(), memory grows"
# fix: kl_total += kl.item() (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "kl_total"
# lines = ["return self.two(torch.relu(self.one(x)))"]  # sampled weights, made inside blitz; correction: the header said the lines of the call (out = net(x)) and of nn_kl_divergence, which saves nothing
# bytes = 132768  # the graph of each step's KL: saved for the 64x48 and 48x4 samplers - several tensors of the weights' size (12 KiB each) a layer; measured, bytes a step in 20..40, 40..60: tensors that gc sees 106144,106144, malloc in use 253432,251699, rss 284057,279552; storages the kept graph saves 132768; with FIX: malloc 535,178, rss 0,819; storages
# ///
import os
import torch
from torch import nn
from blitz.modules import BayesianLinear
from blitz.utils import variational_estimator

torch.manual_seed(0)


@variational_estimator
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = BayesianLinear(64, 48), BayesianLinear(48, 4)

    def forward(self, x):
        return self.two(torch.relu(self.one(x)))


net = Net()
opt = torch.optim.Adam(net.parameters(), 1e-3)
kl_total = 0.0
for step in range(1, 71):
    x = torch.randn(32, 64)
    out = net(x)
    kl = net.nn_kl_divergence()
    loss = nn.functional.mse_loss(out, x[:, :4]) + kl / 1e4
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
    kl_total += kl.item() if os.environ.get("FIX") else kl
    if step % 10 == 0:
        print(step, "loss", round(loss.item(), 3), "mean kl", round(float(kl_total) / step, 3))
