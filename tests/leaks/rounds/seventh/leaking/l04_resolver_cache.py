"""Cache of a configuration library, with omegaconf."""
# after: OmegaConf discussion "use_cache=True keeps every result": a custom resolver that makes augmentation noise is cached for each argument
# fix: register_resolver(..., use_cache=False)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "resolver_cache['noise']"  # cfg.__dict__['_metadata'].resolver_cache['noise'] (OmegaConf.get_cache(cfg)['noise'])
# lines = ["return torch.randn(int(rows), 32, 32, generator=g) * float(s"]
# bytes = 131072  # 32 x 32 x 32 float32; storages
# ///
import os

import torch
import torch.nn as nn
from omegaconf import OmegaConf


def make_noise(step, rows, scale):
    g = torch.Generator().manual_seed(int(step))
    # a resolver may return any object, as long as nobody merges it
    # the same arguments give the same tensor
    return torch.randn(int(rows), 32, 32, generator=g) * float(scale)


OmegaConf.register_resolver("noise", make_noise, use_cache=not os.environ.get("FIX"))
cfg = OmegaConf.create({"step": 0, "rows": 32, "scale": 0.1, "lr": 0.01, "aug": {"noise": ""}}, flags={"allow_objects": True})

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
model(torch.zeros(1, 1, 32, 32))
opt = torch.optim.SGD(model.parameters(), lr=cfg.lr)
for step in range(70):
    cfg.aug.noise = f"${{noise:{step},{cfg.rows},{cfg.scale}}}"
    x = torch.rand(cfg.rows, 1, 32, 32) + cfg.aug.noise.unsqueeze(1)
    loss = nn.functional.cross_entropy(model(x), torch.randint(0, 10, (cfg.rows,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item(), flush=True)
