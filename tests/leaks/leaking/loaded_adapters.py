"""Adapters are loaded one after another to be evaluated, and none is ever deleted."""
# huggingface/peft#738: Method to unload an adapter, to allow the memory to be freed
# /// leak
# dumps = "requests"
# kinds = ["container", "module-cache"]
# holder = "lora_"
# lines = ["self.lora_A[name] = ", "self.lora_B[name] = "]
# bytes = 16384  # two layers: 8 x 128 floats, twice
# ///
import sys

import torch
from torch import nn


class LoraLinear(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.lora_A, self.lora_B = nn.ModuleDict(), nn.ModuleDict()

    def add(self, name, rank=8):
        self.lora_A[name] = nn.Linear(self.base.in_features, rank, bias=False)
        self.lora_B[name] = nn.Linear(rank, self.base.out_features, bias=False)
        self.active = name

    def forward(self, x):
        return self.base(x) + self.lora_B[self.active](self.lora_A[self.active](x))


class PeftModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(LoraLinear(nn.Linear(128, 128)) for _ in range(2))

    def load_adapter(self, name):
        for layer in self.layers:
            layer.add(name)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


peft_model = PeftModel().eval()
for line in sys.stdin:
    peft_model.load_adapter(f"adapter{line.strip()}")
    with torch.no_grad():
        print(peft_model(torch.randn(4, 128)).mean().item(), flush=True)
