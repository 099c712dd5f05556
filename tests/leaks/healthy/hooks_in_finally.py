"""Scalings are given to a layer by hooks of one forward pass, which are removed even where the pass fails, as every seventh does."""
# /// healthy
# dumps = "requests"
# ///
import functools
import sys

import torch
from torch import nn


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.classifier = nn.Linear(128, 128)
        self.layer = nn.Linear(128, 128)

    def scale(self, module, arguments, scalings, fails):
        if fails:
            raise ValueError("no such adapter")
        return (arguments[0] * scalings,)

    def generate(self, hidden, fails):
        for token in range(4):
            hook = functools.partial(self.scale, scalings=self.classifier(hidden), fails=fails)
            handle = self.layer.register_forward_pre_hook(hook)
            try:
                hidden = self.layer(hidden).tanh()
            finally:
                handle.remove()
        return hidden


router = Router().requires_grad_(False)
for number, line in enumerate(sys.stdin):
    try:
        print(router.generate(torch.randn(32, 128), fails=number % 7 == 6).mean().item(), flush=True)
    except ValueError as error:
        print(error, flush=True)
