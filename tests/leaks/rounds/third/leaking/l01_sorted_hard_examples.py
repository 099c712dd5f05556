"""The hardest examples are kept in a sorted list that is never cut to k."""
# after: pytorch's forum: mining of hard examples, memory grows when the hardest are kept
# fix: after add(), `while len(self.hardest) > self.k: self.hardest.pop(0)`
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "miner.hardest"
# lines = ["return torch.randn(32, 512)"]
# bytes = 73984  # 32 x 512 floats of a batch (65,536), 32 x 64 of embeddings, 32 labels
# ///
import torch
from collections import namedtuple
from sortedcontainers import SortedKeyList
from pytorch_metric_learning.losses import ContrastiveLoss

torch.manual_seed(0)
torch.set_num_threads(1)

HardExample = namedtuple("HardExample", "loss images embeddings labels")


class HardMiner:
    def __init__(self, k):
        self.k = k
        self.hardest = SortedKeyList(key=lambda e: e.loss)

    def offer(self, loss, x, emb, y):
        self.hardest.add(HardExample(loss.item(), x, emb.detach(), y))

    def top(self):
        return self.hardest[-self.k:]


def sample():
    y = torch.randint(0, 8, (32,))
    return torch.randn(32, 512) + y[:, None] * 0.1, y


model = torch.nn.Sequential(torch.nn.Linear(512, 96), torch.nn.ReLU(), torch.nn.Linear(96, 64))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
criterion = ContrastiveLoss()
miner = HardMiner(8)
for step in range(66):
    x, y = sample()
    emb = model(x)
    loss = criterion(emb, y)
    miner.offer(loss, x, emb, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("hardest", [round(e.loss, 3) for e in miner.top()][-1])
