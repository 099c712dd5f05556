"""Embeddings are added to the index in each step, the index is reset and filled anew every 8 steps (hard negatives)."""
# looks like: a native index that grows by 64 rows each step; sawtooth of 8 steps
# library: faiss
# /// healthy
# dumps = "steps"
# ///
import faiss
import torch
from torch import nn

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 64))
opt = torch.optim.Adam(enc.parameters(), lr=1e-3)
index = faiss.IndexFlatL2(64)
labels = []
for step in range(66):
    if step % 8 == 0:
        index.reset()
        labels.clear()
    x = torch.randn(64, 32)
    z = enc(x)
    if index.ntotal:
        _, nn_idx = index.search(z.detach().numpy(), 4)
        negatives = torch.from_numpy(nn_idx[:, 0] % 64)
        loss = nn.functional.triplet_margin_loss(z, z.roll(1, 0), z[negatives])
    else:
        loss = z.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    index.add(z.detach().numpy())
    labels.extend(range(64))
print(index.ntotal)
