"""Cache of a decorator, with toolz."""
# after: issue "toolz.memoize never forgets: augmentation per seed fills the memory"
# fix: cache=lru_dict with 10 entries (FIX)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holders = ["augment", "cache"]  # the cache of `augment` (closure of the function: dict `cache`)
# lines = ["noise = torch.randn(base.shape, generator=generator)"]
# bytes = 49152  # 24 x 512 x 4 = 49152 a step; measured 49152 49152 a step (steps 20-40, 40-60; storages of tensors by gc)
# ///
import os
import torch
import toolz
from lru import LRU

torch.manual_seed(0)
base = torch.randn(24, 512)


@toolz.memoize(cache=LRU(10) if os.environ.get("FIX") else None)
def augment(seed, strength):
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(base.shape, generator=generator)  # LEAK
    return noise.mul_(strength).add_(base)


net = torch.nn.Linear(512, 8)
opt = torch.optim.Adam(net.parameters())
for step in range(70):
    views = [augment(step, 0.1), augment(max(0, step - 1), 0.1)]
    loss = (net(views[0]) - net(views[1])).pow(2).mean() - net(base).var() * 1e-3
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
