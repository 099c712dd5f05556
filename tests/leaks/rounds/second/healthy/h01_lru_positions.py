"""functools.lru_cache(maxsize=16) of position tables for keys that never repeat: full after 16 steps, then one in, one out."""
# bytes a step: 0 between the dumps (16 tables * 128*64*4 = 32,768 B each = 524,288 B kept)
# /// healthy
# dumps = "steps"
# ///
import functools

import torch
from torch import nn

torch.manual_seed(0)


@functools.lru_cache(maxsize=16)
def positions(offset, length=128, dim=64):
    t = torch.arange(offset, offset + length, dtype=torch.float32)[:, None]
    rate = torch.exp(-torch.arange(0, dim, 2) * 0.14)
    return torch.cat([torch.sin(t * rate), torch.cos(t * rate)], dim=1)


model = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0)
head = nn.Linear(64, 1)
opt = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=1e-4)
for step in range(66):
    x = torch.randn(2, 128, 64)
    table = positions(step * 7)
    if step > 4:
        table = table + 0.01 * positions((step - 4) * 7)
    loss = head(model(x + table)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), positions.cache_info())
