"""A scripted tracker of objects appends each frame's state to a typed list that lives in C++."""
# kind: torch.jit; C++ list of a scripted module, no Python object refers to its tensors; no optimizer, with torch.jit.
# after: "TorchScript module with List[Tensor] attribute: memory increases with each call"
# fix: keep the last 8 (FIX=1: `tracker.keep = 8`)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "tracker.history"  # `tracker.history` (attribute of the scripted module; a copy in Python each time it is read)
# lines = ["state = tracker(torch.randn(128, 32), state)"]
# bytes = 32768  # 128 x 64 float32 = 32768 a step; measured 32.0 KiB
# ///
import os
from typing import List

import torch
from torch import nn

from ask import at


class Tracker(nn.Module):
    history: List[torch.Tensor]
    keep: int

    def __init__(self, keep: int):
        super().__init__()
        self.cell = nn.GRUCell(32, 64)
        self.history = []
        self.keep = keep

    def forward(self, frame: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        state = self.cell(frame, state)
        self.history.append(state)
        if self.keep > 0:
            while len(self.history) > self.keep:
                self.history.pop(0)
        return state


def main():
    torch.manual_seed(0)
    tracker = torch.jit.script(Tracker(8 if os.environ.get("FIX") else 0).eval())
    state = torch.zeros(128, 64)
    with torch.no_grad():
        for i in range(1, 101):
            state = tracker(torch.randn(128, 32), state)
            at(i)
    print("state", state.norm().item())


if __name__ == "__main__":
    main()
