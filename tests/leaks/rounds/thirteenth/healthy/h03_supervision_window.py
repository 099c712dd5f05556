"""deque(maxlen=8), full at step 8."""
# about: Detections are smoothed over the last 8 frames.
# kind: deque of result objects
# looks like: numpy masks of old frames are alive
# library: supervision
# measured: bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 330,80, rss 409,-614
# /// healthy
# dumps = "asks"
# ///
from collections import deque
import numpy as np
import supervision as sv
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 5, 1), nn.Sigmoid()).eval()
window = deque(maxlen=8)
for i in range(1, 71):
    with torch.no_grad():
        probs = net(torch.rand(1, 3, 96, 96))[0]
    boxes = torch.cat([torch.rand(5, 2) * 40, torch.rand(5, 2) * 40 + 50], 1)
    window.append(sv.Detections(xyxy=boxes.numpy(), mask=(probs > 0.5).numpy(), confidence=probs.amax((1, 2)).numpy(), class_id=np.arange(5)))
    merged = sv.Detections.merge(list(window)).with_nms(0.5)
    if i % 20 == 0:
        print(i, len(window), len(merged))
    at(i)
