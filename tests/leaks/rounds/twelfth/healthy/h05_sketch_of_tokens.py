"""A CountMinSketch of fixed width and depth (and a bounded heavy-hitter table of 20)."""
# report: "counting n-grams of a stream needs ever more memory" - not with a count-min sketch
# looks like: ever new keys are added in all steps.
# library: pyprobables
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn
from probables import CountMinSketch, HeavyHitters

torch.manual_seed(0)
emb, out = nn.Embedding(2000, 24), nn.Linear(24, 2000)
opt = torch.optim.Adam([*emb.parameters(), *out.parameters()])
sketch, heavy = CountMinSketch(width=2000, depth=4), HeavyHitters(num_hitters=20, width=500, depth=3)
for step in range(1, 71):
    ids = (torch.randn(8, 24).abs() * 600).long().clamp(max=1999)
    for row in ids.tolist():
        for a, b in zip(row, row[1:]):
            sketch.add(f"{a} {b}")
            heavy.add(f"{a // 100}")
    loss = nn.functional.cross_entropy(out(emb(ids[:, :-1])).flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(sketch.elements_added, len(heavy.heavy_hitters))
