"""An adapter registers a hook with its scalings before each forward pass of a generation, and removes the last one only."""
# huggingface/peft#2761: FIX X-LoRA forward hook issue during generate
# huggingface/peft#3475: Forward hooks leak when the `_enable_peft_forward_hooks` block raises, poisoning the model
# /// leak
# dumps = "requests"
# kinds = ["container"]
# holder = "_forward_pre_hooks"
# lines = ["scalings = "]
# bytes = 49152  # three of four passes: 32 x 128 floats each
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

    def scale(self, module, arguments, scalings):
        return (arguments[0] * scalings,)

    def generate(self, hidden):
        for token in range(4):
            scalings = self.classifier(hidden)
            handle = self.layer.register_forward_pre_hook(functools.partial(self.scale, scalings=scalings))
            hidden = self.layer(hidden).tanh()
        handle.remove()
        return hidden


router = Router().requires_grad_(False)
for line in sys.stdin:
    print(router.generate(torch.randn(32, 128)).mean().item(), flush=True)
