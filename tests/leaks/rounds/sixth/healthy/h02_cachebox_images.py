"""At most 96 decoded images; 16 different are read in each step, so it is full at step 6 and only exchanges after that."""
# looks like: a cache to which 16 new tensors are added in each step, forever
# library: cachebox (LRUCache), PIL
# /// healthy
# dumps = "steps"
# ///
import io
import random
import cachebox
import numpy as np
import torch
from PIL import Image
from torch import nn

torch.manual_seed(0)
random.seed(0)
rng = np.random.default_rng(0)


def encode(k):
    buf = io.BytesIO()
    Image.fromarray(rng.integers(0, 255, (32, 32, 3), dtype=np.uint8)).save(buf, "PNG")
    return buf.getvalue()


files = [encode(k) for k in range(1200)]
decoded = cachebox.LRUCache(96)


def load(k):
    if k not in decoded:
        img = Image.open(io.BytesIO(files[k])).convert("RGB")
        decoded[k] = torch.from_numpy(np.asarray(img).copy()).permute(2, 0, 1).float() / 255
    return decoded[k]


net = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 15 * 15, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
order = list(range(1200))
random.shuffle(order)
for step in range(66):
    batch = torch.stack([load(k) for k in order[step * 16:step * 16 + 16]])
    loss = nn.functional.cross_entropy(net(batch), torch.randint(0, 4, (16,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
