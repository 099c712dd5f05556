"""Every step hangs a "save when we stop" callback onto a future that is completed at the end of the program only."""
# kind: torch.futures; callbacks in a C++ vector, closures of Python, with torch.futures.
# after: "torch.futures.Future.then callbacks keep their captures until the future completes"
# fix: one callback that reads the latest state (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "run.stopping"  # the Future in `run.stopping`: its list of callbacks in C++, whose closures (`save`) keep `snapshot`. Completing it frees all (checked); another Future in its place frees nothing (checked: a callback keeps its future in C++)
# lines = ["snapshot = torch.cat([p.detach().flatten() for p in self.mod"]
# bytes = 49792  # one copy of the weights: (64*96+96 + 96*64+64 = 12448) float32 = 49792 a step; measured 48.6 KiB
# ///
import os

import torch
from torch import nn
from torch.futures import Future


class Run:
    def __init__(self, model):
        self.model = model
        self.stopping = Future()
        self.saved = {}

    def on_stop_save(self, step):
        snapshot = torch.cat([p.detach().flatten() for p in self.model.parameters()])

        def save(fut):
            self.saved[step % 3] = snapshot.sum().item()

        self.stopping.add_done_callback(save)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 96), nn.SiLU(), nn.Linear(96, 64))
    opt = torch.optim.RAdam(model.parameters(), lr=1e-3)
    run = Run(model)
    for step in range(1, 81):
        x = torch.randn(256, 64)
        loss = nn.functional.mse_loss(model(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if not os.environ.get("FIX") or step == 1:
            run.on_stop_save(step)
    run.stopping.set_result(True)
    print(run.saved, loss.item())


if __name__ == "__main__":
    main()
