"""Each forward pass of an adapter registers a hook on the base layer for its own hidden state, and drops the handle."""
# huggingface/peft#3625: [Bug] ShadowPEFT hook-lifecycle leak: per-forward GPU growth + UAF on unload_shadow(copy=False)->delete_adapter
# /// leak
# dumps = "requests"
# kinds = ["container"]
# holder = "_forward_hooks"
# lines = ["shadow = torch.tanh("]
# bytes = 8192  # 32 x 64 floats
# ///
import sys

import torch
from torch import nn


class ShadowModel(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base, self.shadow_layer = base, nn.Linear(64, 64)

    def forward(self, x):
        shadow = torch.tanh(self.shadow_layer(x))

        def add_shadow(module, inputs, output):
            return output + 0.01 * shadow

        self.base.register_forward_hook(add_shadow)
        return self.base(x)


model = ShadowModel(nn.Linear(64, 64)).eval()
for line in sys.stdin:
    with torch.no_grad():
        print(model(torch.randn(32, 64)).mean().item(), flush=True)
