"""threshold=15; from step 8 on it is between 10 and 16 entries (saw tooth). Values are pickled bytes of numpy arrays."""
# report: "SimpleCache never forgets" (cachelib SimpleCache threshold: prunes expired and then every third key when over the threshold)
# library: cachelib
# /// healthy
# dumps = "asks"
# ///
import torch
import torch.nn as nn
from cachelib import SimpleCache

from ask import at

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 512), nn.ReLU(), nn.Linear(512, 4096)).eval()
cache = SimpleCache(threshold=15, default_timeout=300)


@torch.no_grad()
def answer(key, x):
    got = cache.get(key)
    if got is None:
        got = net(x).numpy()
        cache.set(key, got)
    return got


for i in range(1, 71):
    for k in range(2):
        answer(f"user{i}-{k}", torch.randn(2, 32))
    answer("home", torch.zeros(2, 32))
    at(i)
print(len(cache._cache))
