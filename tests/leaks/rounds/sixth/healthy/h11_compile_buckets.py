"""Compiled code for at most 4 lengths, all seen in the first 12 steps; after that nothing is compiled."""
# looks like: guards, graphs and fake tensors of the compiler's caches (tens of MiB in the first steps)
# library: torch.compile (aot_eager), four buckets of lengths
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.mix, self.head = nn.Embedding(500, 64), nn.Linear(64, 64), nn.Linear(64, 500)

    def forward(self, ids):
        h = self.emb(ids)
        h = h + torch.relu(self.mix(h)).cumsum(1) / ids.shape[1]
        return self.head(h)


net = Net()
step_fn = torch.compile(net, backend="aot_eager", dynamic=False)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
lengths = [16, 32, 48, 64]
for step in range(64):
    n = lengths[step // 3 % 4]
    ids = torch.randint(0, 500, (8, n))
    loss = nn.functional.cross_entropy(step_fn(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
