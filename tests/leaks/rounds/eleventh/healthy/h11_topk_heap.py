"""A heap of the 4 best checkpoints: heappushpop drops the worst (4 from step 12 on: an evaluation every 3 steps)."""
# looks like: state dicts are cloned again and again and put into a list of an object
# library: torch only
# /// healthy
# dumps = "steps"
# ///
import heapq

import torch
import torch.nn as nn

torch.manual_seed(0)


class TopK:
    def __init__(self, k):
        self.k, self.heap, self.n = k, [], 0

    def offer(self, score, net):
        self.n += 1
        entry = (score, self.n, {k: v.detach().clone() for k, v in net.state_dict().items()})
        (heapq.heappush if len(self.heap) < self.k else heapq.heappushpop)(self.heap, entry)

    def soup(self):
        states = [s for _, _, s in self.heap]
        return {k: torch.stack([s[k].float() for s in states]).mean(0) for k in states[0]}


net = nn.Sequential(nn.Linear(64, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 10))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
held_x, held_y = torch.randn(256, 64), torch.randint(10, (256,))
best = TopK(4)
for step in range(1, 91):
    x, y = torch.randn(64, 64), torch.randint(10, (64,))
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 3 == 0:
        net.eval()
        with torch.no_grad():
            score = -nn.functional.cross_entropy(net(held_x), held_y).item()
        net.train()
        best.offer(score, net)
net.load_state_dict(best.soup())
print(len(best.heap), round(max(s for s, _, _ in best.heap), 3))
