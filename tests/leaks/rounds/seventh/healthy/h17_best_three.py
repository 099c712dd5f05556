"""A heap of at most 3 copies, full after 3 improvements; nearly every step replaces one."""
# report: "I keep the best checkpoints in memory": the top 3 state dicts by loss, the loss improves in almost every step
# library: torch (heapq)
# /// healthy
# dumps = "steps"
# ///
import copy
import heapq

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(50, 200), nn.ReLU(), nn.Linear(200, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-4)
X = torch.randn(500, 50)
Y = X[:, :5].sum(1, keepdim=True)
best = []
for step in range(70):
    loss = (net(X) - Y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    item = (-loss.item(), step, copy.deepcopy(net.state_dict()))
    if len(best) < 3:
        heapq.heappush(best, item)
    elif item[0] > best[0][0]:
        heapq.heapreplace(best, item)
    if step % 20 == 0:
        print(step, loss.item(), [b[1] for b in best], flush=True)
