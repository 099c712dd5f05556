"""lru_cache(maxsize=8) of position grids by image size, 14 sizes cycle in a shuffled order: full at about step 10; entries differ in size (4 to 300 KiB), so the bytes go up and down."""
# /// healthy
# dumps = "asks"
# ///
import functools
import random
import torch
from torch import nn
from ask import at

random.seed(0)
torch.manual_seed(0)


@functools.lru_cache(maxsize=8)
def grid(h, w):
    ys, xs = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
    return torch.stack([xs, ys]).unsqueeze(0)


net = nn.Sequential(nn.Conv2d(5, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1)).eval()
sizes = [32 + 12 * k for k in range(14)]
for i in range(1, 161):
    h = w = random.choice(sizes)
    with torch.no_grad():
        net(torch.cat([torch.rand(1, 3, h, w), grid(h, w)], 1))
    at(i)
print(grid.cache_info())
