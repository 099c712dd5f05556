"""lru_cache(maxsize=None) around a method that embeds users."""
# kind: cache decorator without a limit, with torch, functools
# after: "functools.lru_cache on methods leaks memory" (and ruff's B019)
# fix: lru_cache(maxsize=16) (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "Recommender.profile"  # Recommender.profile (its cache; Recommender.profile.cache_clear())
# lines = ["return self.tower(clicks)"]
# bytes = 32768  # 4 new users a step, each profile 1x2048x4 = 8192: 32768; measured, bytes a step in 20..40, 40..60: tensors that gc sees 32768,32768, malloc in use 34908,34758, rss 35225,35635; with FIX: malloc 563,210, rss 1433,-819
# ///
import functools
import os
import torch
from torch import nn
from ask import at

torch.manual_seed(0)


class Recommender:
    def __init__(self):
        self.tower = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2048))
        self.items = torch.randn(50, 2048)

    @functools.lru_cache(maxsize=16 if os.environ.get("FIX") else None)
    def profile(self, user):
        g = torch.Generator().manual_seed(user)
        with torch.no_grad():
            clicks = torch.randn(1, 64, generator=g)
            return self.tower(clicks)

    def recommend(self, user):
        return int((self.items @ self.profile(user).T).argmax())


shop = Recommender()
for i in range(1, 71):
    tops = [shop.recommend(u) for u in range(4 * i, 4 * i + 4)]
    tops += [shop.recommend(4 * i)]
    if i % 20 == 0:
        print(i, tops, Recommender.profile.cache_info())
    at(i)
