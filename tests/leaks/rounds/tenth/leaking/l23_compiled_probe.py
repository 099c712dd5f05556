"""A compiled model appends its hidden states to a list, a debugging line that stayed."""
# kind: torch.compile (backend eager); list of a module filled within forward; graph freed by backward, outputs stay, with torch.compile.
# after: "torch.compile: appending activations to self.trace in forward, memory grows and it recompiles"
# fix: remove the append (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = ["model.trace", "compiled._orig_mod.trace"]  # `model.trace` (of the uncompiled module, `compiled._orig_mod.trace`)
# lines = ["h = torch.relu(self.inp(x))", "loss = nn.functional.cross_entropy(compiled(x), y)"]
# bytes = 49152  # 128 x 96 float32 = 49152 a step; measured 48.0 KiB (the 8 compiled versions keep 1.4 MiB of the first steps' outputs beside; that is bounded by the recompile limit and stays when `trace` is cleared)
# ///
import os
import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(40, 96)
        self.out = nn.Linear(96, 6)
        self.trace = []

    def forward(self, x):
        h = torch.relu(self.inp(x))
        if not os.environ.get("FIX"):
            self.trace.append(h)
        return self.out(h)


def main():
    torch.manual_seed(0)
    model = Model()
    compiled = torch.compile(model, backend="eager")
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, 81):
        x, y = torch.randn(128, 40), torch.randint(6, (128,))
        loss = nn.functional.cross_entropy(compiled(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(len(model.trace), loss.item())


if __name__ == "__main__":
    main()
