"""An eight-bit optimizer registers its pages with a global manager; optimizers go, their pages do not."""
# bitsandbytes-foundation/bitsandbytes#801: Massive difference in VRAM usage between 8-bit paged and unpaged optimizer (measurements included)
# /// leak
# dumps = "steps"
# kinds = ["module-cache", "container"]
# holder = "paged_tensors"
# lines = ["page = torch.zeros("]
# bytes = 33280  # two moments of 128 x 128 + 256 numbers of one byte
# ///
import torch
from torch import nn


class PageManager:
    _instance = None

    def __init__(self):
        self.paged_tensors = []

    @classmethod
    def get(cls):
        cls._instance = cls._instance or cls()
        return cls._instance


class Adam8bit(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 1e-3})

    def page(self, like):
        page = torch.zeros(like.numel(), dtype=torch.uint8)
        PageManager.get().paged_tensors.append(page)
        return page

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            if not state:
                state.update(state1=self.page(p), state2=self.page(p))
            state["state1"].copy_((p.grad * 100).clamp(-127, 127).to(torch.int8).flatten().view(torch.uint8))
            p.sub_(p.grad, alpha=1e-3)


model = nn.Sequential(nn.Linear(128, 128), nn.Linear(128, 1, bias=False))
for trial in range(60):
    optimizer = Adam8bit(model.parameters())
    loss = model(torch.randn(4, 128)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
