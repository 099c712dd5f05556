"""Heap of the 3 best copies (heappushpop); 3 by step 9."""
# report: "early stopping keeps all the checkpoints": top three are kept in a heap
# looks like: deepcopy of the weights at every evaluation
# library: standard library (heapq)
# /// healthy
# dumps = "steps"
# ///
import copy
import heapq
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.Tanh(), torch.nn.Linear(96, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.003)
valid = torch.randn(256, 64)
best = []
for step in range(70):
    x = torch.randn(64, 64)
    loss = (net(x) - x[:, :2].sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 3 == 2:
        with torch.no_grad():
            score = -(net(valid) - valid[:, :2].sum(1, keepdim=True)).pow(2).mean().item()
        entry = (score, step, copy.deepcopy(net.state_dict()))
        if len(best) < 3:
            heapq.heappush(best, entry)
        else:
            heapq.heappushpop(best, entry)
print([round(score, 3) for score, _, _ in sorted(best)])
