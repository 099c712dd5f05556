"""Attribute of a wrapt.ObjectProxy (C implementation; attributes that begin with _self_)."""
# after: debugging proxy remembers all outputs
# fix: del self._self_calls[:-3] (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "encoder._self_calls"
# lines = ["out = self.__wrapped__(*args, **kwargs)"]
# bytes = 51200  # 51,200 (200x64x4; last Linear of the encoder); malloc 51,900
# ///
import os
import torch
import wrapt
from torch import nn

torch.manual_seed(0)


class Recorded(wrapt.ObjectProxy):
    """Transparent proxy: behaves as the module, and remembers its calls for the debugger."""

    def __init__(self, wrapped, name):
        super().__init__(wrapped)
        self._self_name = name
        self._self_calls = []

    def __call__(self, *args, **kwargs):
        out = self.__wrapped__(*args, **kwargs)
        self._self_calls.append((self._self_name, out.detach()))
        if os.environ.get("FIX"):
            del self._self_calls[:-3]
        return out


encoder = Recorded(nn.Sequential(nn.Linear(40, 160), nn.SiLU(), nn.Linear(160, 64)), "encoder")
decoder = nn.Linear(64, 40)
optimizer = torch.optim.RMSprop([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
for step in range(1, 201):
    x = torch.randn(200, 40)
    loss = nn.functional.smooth_l1_loss(decoder(encoder(x)), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
