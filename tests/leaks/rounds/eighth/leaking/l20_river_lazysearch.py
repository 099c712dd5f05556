"""Window of an online-learning library, with river."""
# after: issue "nearest-neighbour engine keeps every sample I stream in" (window far too large)
# fix: window_size=40 (FIX)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "index.window"  # `index.window` (deque of the LazySearch engine)
# lines = ["vector = row.clone()"]
# bytes = 16384  # 8 samples x 512 x 4 = 16384 a step; measured 16384 16384 a step (steps 20-40, 40-60; storages of tensors by gc)
# ///
import os
import torch
from river.neighbors import LazySearch

torch.manual_seed(0)
encoder = torch.nn.Linear(32, 512)
head = torch.nn.Linear(512, 4)
opt = torch.optim.Adam([*encoder.parameters(), *head.parameters()])


def distance(a, b):
    return float(torch.dist(a[0], b[0]))


index = LazySearch(window_size=40 if os.environ.get("FIX") else 10**6, dist_func=distance)
for step in range(70):
    x = torch.randn(8, 32)
    z = encoder(x)
    loss = torch.nn.functional.cross_entropy(head(z), torch.randint(0, 4, (8,)))
    opt.zero_grad()
    loss.backward()
    for row in z.detach():
        vector = row.clone()  # LEAK
        index.append((vector, step))
    opt.step()
print(len(index.window))
