"""Intervals with data in a library's tree, with intervaltree."""
# after: "audio event detector keeps every detected segment with its features in an IntervalTree" (streaming detectors)
# fix: timeline.remove_envelop(0, second - 20) in each step, as the answer only looks 5 s back
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holders = ["timeline.all_intervals", "timeline.top_node"]  # timeline (IntervalTree: timeline.all_intervals and the nodes of timeline.top_node hold each Interval, its data is the tensor)
# lines = ["segment = features[begin:begin + 40].clone()"]
# bytes = 20480  # 2 segments a step, each 40*64*4 = 10 KiB: 20 KiB of tensors a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 20.0, 20.0; all malloc'd 24.0, 22.9 (with FIX: 1.0, 0.0; 2.2, 0.6)
# ///
import os
import torch
from torch import nn
from intervaltree import IntervalTree
from ask import at

torch.manual_seed(0)
frontend = nn.Conv1d(1, 64, 400, stride=100)
head = nn.Linear(64, 3)
timeline = IntervalTree()

for second in range(1, 111):
    audio = torch.randn(1, 1, 16000)
    with torch.no_grad():
        features = torch.relu(frontend(audio))[0].T
        loud = head(features).softmax(-1)
        for k in range(2):
            begin = int(loud[:100, k].argmax())
            segment = features[begin:begin + 40].clone()
            timeline.addi(second + begin / 160, second + (begin + 40) / 160, segment)
    if os.environ.get("FIX"):
        timeline.remove_envelop(0, second - 20)
    recent = timeline.overlap(second - 5, second + 1)
    if second % 25 == 0:
        mean = torch.stack([iv.data.mean() for iv in recent]).mean()
        print(second, len(recent), round(mean.item(), 4), flush=True)
    at(second)
