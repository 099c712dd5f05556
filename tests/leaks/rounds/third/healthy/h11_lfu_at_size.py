"""cachetools LFUCache with getsizeof in bytes: at its limit of 2 MB before step 20, entries are replaced all the time."""
# /// healthy
# dumps = "asks"
# ///
import cachetools
import torch
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)

cache = cachetools.LFUCache(maxsize=2_000_000, getsizeof=lambda t: t.numel() * t.element_size())
encoder = torch.nn.Linear(32, 256).requires_grad_(False)
hits = misses = 0
generator = torch.Generator().manual_seed(1)
for step in range(1, 67):
    for _ in range(4):
        doc = int(torch.randint(0, 400, (1,), generator=generator))
        if doc in cache:
            hits += 1
            feats = cache[doc]
        else:
            misses += 1
            length = 40 + doc % 60
            feats = cache[doc] = encoder(torch.randn(length, 32))
    at(step)
print(hits, misses, len(cache), feats.shape[1])
