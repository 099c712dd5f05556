"""At most 15 entries, full after 15 steps; the sizes of tiles change (64 to 96 pixels a side), so the sum goes up and down."""
# report: "my tile cache eats memory": boltons.cacheutils.LRU(max_size=15) with tiles of different sizes
# library: boltons
# /// healthy
# dumps = "asks"
# ///
import torch
import torch.nn as nn
from boltons.cacheutils import LRU, cached
from ask import at

tiles = LRU(max_size=15)
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 3, 3, padding=1)).eval()


@cached(tiles)
def render(row, column):
    side = 64 + 8 * ((row * 7 + column * 3) % 5)
    with torch.inference_mode():
        return net(torch.rand(1, 3, side, side))


for frame in range(1, 71):
    views = [render(frame // 4, frame), render(frame // 4, frame)]
    if frame % 20 == 0:
        print(frame, views[0].mean().item(), len(tiles), flush=True)
    at(frame)
