"""Attribute of a scripted module (C++ list), with torch.jit."""
# after: TorchScript issue "List[Tensor] attribute grows": a scripted module keeps its outputs in an attribute
# fix: self.outputs.clear() / keep the last only
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "tracker.outputs"  # tracker.outputs (List[Tensor] attribute of the ScriptModule)
# lines = ["smooth = smooth + self.outputs[-1] * (1.0 - self.decay)"]
# bytes = 32000  # 2000 x 4 float32; storages
# ///
import os
import warnings
from typing import List

warnings.filterwarnings("ignore")
import torch
import torch.nn as nn
from ask import at


class Tracker(nn.Module):
    def __init__(self, limit: int):
        super().__init__()
        self.outputs = torch.jit.Attribute([], List[torch.Tensor])
        self.limit = limit
        self.decay = 0.9

    def forward(self, boxes: torch.Tensor) -> torch.Tensor:
        smooth = boxes * self.decay
        if len(self.outputs) > 0:
            smooth = smooth + self.outputs[-1] * (1.0 - self.decay)
        self.outputs.append(smooth)
        if len(self.outputs) > self.limit:
            self.outputs.pop(0)
        return smooth


torch.manual_seed(0)
detector = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 4)).eval()
tracker = torch.jit.script(Tracker(4 if os.environ.get("FIX") else 1 << 60))
with torch.no_grad():
    for frame in range(1, 71):
        anchors = torch.randn(2000, 64)
        out = tracker(detector(anchors))
        if frame % 20 == 0:
            print(frame, out.mean().item(), flush=True)
        at(frame)
