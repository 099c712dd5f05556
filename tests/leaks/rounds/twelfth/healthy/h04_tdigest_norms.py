"""Compressed after each batch to a bounded number of centroids (delta 0.1, K 25: under 100); reached before step 15. Plain Python objects."""
# report: "the digest of gradient norms grows" (tdigest)
# library: tdigest
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn
from tdigest import TDigest

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
digest = TDigest(delta=0.1)
for step in range(1, 71):
    x = torch.randn(40, 20)
    err = (net(x)[:, 0] - x[:, 0]).pow(2)
    opt.zero_grad()
    err.mean().backward()
    opt.step()
    digest.batch_update(err.detach().tolist())
    digest.compress()
print(len(digest), digest.percentile(90))
