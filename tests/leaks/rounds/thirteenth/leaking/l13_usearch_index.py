"""A deduplication index takes the embeddings of each batch and drops none."""
# kind: native memory of a C++ library, with usearch
# after: "RAM grows: vector index in the data pipeline", usearch/hnswlib users
# fix: seen.reset() every 10 batches (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "seen"  # seen (usearch Index)
# lines = []
# bytes = [45466, 54272]  # 64 vectors of 128 float32 = 32768, and the graph's neighbours (connectivity 16: about 150 to 200 bytes a vector): some 44 KiB as rss; the library allocates in growing blocks (arena), capacity reserved in powers; measured, bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 6310,212, rss 50995,46080; with FIX: malloc 437,112, rss 0,1228; outside of tensors; native memory that usearch maps itself; correction: judges measured 46,285 and 45,466 of anonymous memory, 54,272 and 47,104 of resident memory
# ///
import os
import numpy as np
import torch
from torch import nn
from usearch.index import Index

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(48, 128), nn.Tanh(), nn.Linear(128, 128))
decoder = nn.Linear(128, 48)
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], 1e-3)
seen = Index(ndim=128, metric="cos", dtype="f32", connectivity=16)
count = dupes = 0
for step in range(1, 71):
    x = torch.randn(64, 48)
    z = encoder(x)
    loss = nn.functional.mse_loss(decoder(z), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    vectors = np.ascontiguousarray(z.detach().numpy())
    seen.add(np.arange(count, count + 64), vectors)
    count += 64
    dupes += int((seen.search(vectors[:4], 2).distances[:, 1] < 1e-3).sum())
    if os.environ.get("FIX") and step % 10 == 0:
        seen.reset()
    if step % 20 == 0:
        print(step, round(loss.item(), 3), "size", len(seen), "dupes", dupes)
