"""KevinMusgrave/pytorch-metric-learning: CrossBatchMemory, a preallocated ring (fills logically until step 32)."""
# bytes a step: 0; holder: xbm.embedding_memory (1024*64*4, constant)
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from pytorch_metric_learning.losses import ContrastiveLoss, CrossBatchMemory

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 64))
xbm = CrossBatchMemory(ContrastiveLoss(), embedding_size=64, memory_size=1024)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)


def batch():
    y = torch.randint(0, 8, (32,))
    return torch.randn(32, 32) + y[:, None] * 0.1, y


for step in range(66):
    x, y = batch()
    loss = xbm(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), xbm.has_been_filled)
