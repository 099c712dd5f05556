"""Detections with masks of every frame are kept for an annotated video at the end."""
# kind: list of result objects, numpy masks, with supervision
# after: supervision/ultralytics issues "RAM grows while processing a video" (results kept in a list)
# fix: history = history[-5:] (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "history"
# lines = []
# bytes = 73896  # 6 masks of 96x128 bool = 73728, boxes 6x4x4 = 96, confidence 24, class_id 48: 73896; measured, bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 74253,74234, rss 77209,75366; with FIX: malloc 172,21, rss 409,-204; outside of tensors
# ///
import os
import numpy as np
import supervision as sv
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
segmenter = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 6, 1), nn.Sigmoid()).eval()
history = []


@torch.no_grad()
def detect(frame):
    probs = segmenter(frame)[0]
    masks = probs > 0.5
    xy = torch.rand(6, 2) * 64
    boxes = torch.cat([xy, xy + 20], 1)
    return sv.Detections(
        xyxy=boxes.numpy(),
        class_id=np.arange(6),
        mask=masks.numpy(),
        confidence=probs.amax((1, 2)).numpy(),
    )


for i in range(1, 71):
    frame = torch.rand(1, 3, 96, 128)
    found = detect(frame)
    history.append(found[found.confidence > 0.0])
    if os.environ.get("FIX"):
        history = history[-5:]
    if i % 20 == 0:
        print(i, "frames", len(history), "objects", sum(len(d) for d in history))
    at(i)
