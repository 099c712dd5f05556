"""bitarray(200000) is made before the first step; bits are set; a per-epoch list of hard ids is capped to 64 and sorted."""
# report: "which samples were seen: memory of the seen set" - a bit array of fixed length
# library: bitarray
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn
from bitarray import bitarray

torch.manual_seed(0)
net = nn.Linear(50, 50)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
seen = bitarray(200_000)
seen.setall(False)
hard = []
for step in range(1, 71):
    ids = torch.randint(0, 200_000, (128,))
    x = torch.randn(128, 50)
    err = (net(x) - x).pow(2).mean(1)
    opt.zero_grad()
    err.mean().backward()
    opt.step()
    for k, e, row in zip(ids.tolist(), err.tolist(), x):
        seen[k] = True
        hard.append((e, k, row.clone()))
    hard = sorted(hard, key=lambda h: -h[0])[:64]
print(seen.count(), hard[0][0])
