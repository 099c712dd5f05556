"""Accumulated graph, with nflows."""
# after: forum "RAM grows when I sum up the log likelihood of my flow": the running sum keeps the graphs of all batches
# fix: total_nll += nll.item()
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached"]
# holder = "total_nll"
# lines = ["nll = -flow.log_prob(check).mean()", "total_nll = total_nll + (nll.item() if os.environ.get(\"FIX\")"]
# bytes = 102152  # storages the graph saves, walked and cross-checked by check_l08.py; malloc in use incl. nodes 180,000
# ///
import os

import torch
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms.autoregressive import MaskedAffineAutoregressiveTransform
from nflows.transforms.base import CompositeTransform
from nflows.transforms.permutations import ReversePermutation

torch.manual_seed(0)
layers = []
for _ in range(2):
    layers += [ReversePermutation(features=8), MaskedAffineAutoregressiveTransform(features=8, hidden_features=24)]
flow = Flow(CompositeTransform(layers), StandardNormal([8]))
opt = torch.optim.Adam(flow.parameters(), lr=1e-3)
data = torch.randn(4000, 8) @ torch.randn(8, 8)
total_nll = 0.0
for step in range(66):
    rows = torch.randint(0, len(data), (64,))
    batch = data[rows]
    opt.zero_grad()
    (-flow.log_prob(batch).mean()).backward()
    opt.step()
    check = data[torch.randint(0, len(data), (64,))]
    nll = -flow.log_prob(check).mean()
    total_nll = total_nll + (nll.item() if os.environ.get("FIX") else nll)
    if step % 20 == 0:
        print(step, float(total_nll) / (step + 1), flush=True)
