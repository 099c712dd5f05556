"""LocMemCache culls a third when 24 entries are exceeded; 3 new a step: full after step 8, then a saw tooth. Values are pickled (bytes, no tensors)."""
# report: "Django's local-memory cache with model outputs: will it eat the server's memory?"
# kind: cache with MAX_ENTRIES
# library: Django
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd -1.1, 3.3
# /// healthy
# dumps = "asks"
# ///
import torch
from torch import nn
from django.conf import settings
from ask import at

settings.configure(CACHES={"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "scores",
                                       "OPTIONS": {"MAX_ENTRIES": 24}}})
from django.core.cache import cache

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(40, 128), nn.GELU(), nn.Linear(128, 100)).eval()


def scores(key):
    got = cache.get(key)
    if got is None:
        gen = torch.Generator().manual_seed(hash(key) % 2**31)
        with torch.no_grad():
            got = model(torch.randn(32, 40, generator=gen))
        cache.set(key, got, timeout=3600)
    return got


for request in range(1, 121):
    total = 0.0
    for user in range(3 * request, 3 * request + 3):
        total += scores(f"user-{user}").mean().item()
        total += scores(f"user-{max(0, user - 2)}").mean().item()
    if request % 40 == 0:
        print(request, round(total, 4), len(cache._cache), flush=True)
    at(request)
