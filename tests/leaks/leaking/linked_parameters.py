"""Each low precision parameter is linked to its master copy and back; engines that are replaced stay in the cycle."""
# deepspeedai/DeepSpeed#5643: Fix memory leak from _hp_mapping
# huggingface/accelerate#2715: RAM leakage
# /// leak
# dumps = "steps"
# kinds = ["reference-cycle"]
# holder = "Engine"
# lines = ["self.half = nn.Linear(", "master = ", "self.optimizer.step()", "loss.backward()"]
# bytes = 83208  # 64 x 64 + 64 numbers of two bytes, twice: with gradient; of four, four times: master, gradient, moments; two steps of 4
# ///
import gc
import types

import torch
from torch import nn

gc.disable()


class Engine:
    def __init__(self):
        self.half = nn.Linear(64, 64).to(torch.bfloat16)
        self.masters = []
        for parameter in self.half.parameters():
            master = parameter.detach().float()
            parameter._hp_mapping = types.SimpleNamespace(master=master, engine=self)
            self.masters.append(master)
        self.optimizer = torch.optim.Adam(self.masters)

    def step(self):
        loss = self.half(torch.randn(8, 64, dtype=torch.bfloat16)).square().mean()
        loss.backward()
        for parameter, master in zip(self.half.parameters(), self.masters):
            master.grad = parameter.grad.float()
        self.optimizer.step()


for trial in range(60):
    Engine().step()
