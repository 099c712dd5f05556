"""Observer (module) that records, with torch.ao.quantization."""
# after: quantization forum: "calibration runs out of memory": RecordingObserver keeps every activation it has seen
# fix: HistogramObserver
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "model.probe.tensor_val"  # model.probe.tensor_val (list of RecordingObserver)
# lines = ["h = self.probe(h)"]
# bytes = 41472  # 16 x 8 x 9 x 9 float32; storages
# ///
import os
import warnings

warnings.filterwarnings("ignore")
import torch
import torch.nn as nn
from ask import at
from torch.ao.quantization.observer import MinMaxObserver, RecordingObserver


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2), nn.ReLU())
        self.probe = MinMaxObserver() if os.environ.get("FIX") else RecordingObserver()
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        h = self.features(x)
        h = self.probe(h)
        return self.head(h.mean((2, 3)))


torch.manual_seed(0)
model = Net().eval()
with torch.no_grad():
    for step in range(1, 71):
        images = torch.rand(16, 3, 40, 40)
        out = model(images)
        if step % 20 == 0:
            print(step, out.std().item(), flush=True)
        at(step)
