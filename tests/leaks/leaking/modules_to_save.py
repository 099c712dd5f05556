"""delete_adapter() removes the adapter's layers, but not its copy of the head that is trained with it."""
# huggingface/peft#2466: FIX Deleting adapters on auxiliary modules
# /// leak
# dumps = "requests"
# kinds = ["container", "module-cache"]
# holder = "modules_to_save"
# lines = ["self.modules_to_save[name] = copy.deepcopy("]
# bytes = 33024  # 128 x 64 floats and a bias of 64
# ///
import copy
import sys

import torch
from torch import nn


class ModulesToSave(nn.Module):
    def __init__(self, original):
        super().__init__()
        self.original = original
        self.modules_to_save = nn.ModuleDict()

    def update(self, name):
        self.modules_to_save[name] = copy.deepcopy(self.original)

    def forward(self, x, name):
        return self.modules_to_save[name](x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(32, 128), ModulesToSave(nn.Linear(128, 64))
        self.lora = nn.ModuleDict()

    def add_adapter(self, name):
        self.lora[name] = nn.Linear(32, 128, bias=False)
        self.head.update(name)

    def delete_adapter(self, name):
        del self.lora[name]

    def forward(self, x, name):
        return self.head(self.body(x) + self.lora[name](x), name)


model = Model().eval()
for line in sys.stdin:
    name = f"task{line.strip()}"
    model.add_adapter(name)
    with torch.no_grad():
        print(model(torch.randn(8, 32), name).mean().item(), flush=True)
    model.delete_adapter(name)
