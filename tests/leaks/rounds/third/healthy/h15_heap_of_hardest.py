"""heapq.heappushpop keeps the 12 hardest batches; the heap is full from step 12 on and entries (tensors of any age) are exchanged."""
# /// healthy
# dumps = "steps"
# ///
import heapq
import itertools
import torch

torch.manual_seed(0)
torch.set_num_threads(1)

model = torch.nn.Sequential(torch.nn.Linear(256, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
count, heap = itertools.count(), []
for step in range(66):
    x, y = torch.randn(64, 256) * (1 + 0.02 * step), torch.randint(0, 4, (64,))
    loss = torch.nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    entry = (loss.item(), next(count), x, y)
    if len(heap) < 12:
        heapq.heappush(heap, entry)
    else:
        heapq.heappushpop(heap, entry)
print("hardest", [round(h[0], 2) for h in heapq.nlargest(3, heap)])
