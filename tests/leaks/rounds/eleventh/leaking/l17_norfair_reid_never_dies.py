"""Tracker of objects, embeddings as tensors in detections, with norfair."""
# after: "norfair tracker: memory increases, dead objects are never dropped": reid_hit_counter_max far too high, every short track stays for re-identification
# fix: reid_hit_counter_max=3
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "tracker.tracked_objects"  # tracker.tracked_objects (list; each TrackedObject: last_detection and past_detections -> Detection.data)
# lines = ["embeddings = embedder(crops)"]
# bytes = 16384  # 16384 (malloc in use 19800: objects and numpy of the tracks besides) (one frame makes an embedding tensor 4x1024 float32 = 16384 B; two new tracks a frame keep a row each and with it the storage)
# ///
import os

import numpy as np
import torch
import torch.nn as nn
from norfair import Detection, Tracker
from ask import at

torch.manual_seed(0)
np.random.seed(0)
embedder = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 256), nn.ReLU(), nn.Linear(256, 1024)).eval()


def reid_distance(new, old):
    a, b = new.last_detection.data, old.last_detection.data
    return float(1 - torch.cosine_similarity(a, b, dim=0)) + 1.0


tracker = Tracker("euclidean", distance_threshold=20, hit_counter_max=3, initialization_delay=0,
                  reid_distance_function=reid_distance, reid_distance_threshold=0.1,
                  reid_hit_counter_max=3 if os.environ.get("FIX") else 10 ** 6)


def frame_of(i):
    """two people who walk, and two flickers at random places"""
    walk = np.array([[10.0 + i, 50.0], [200.0 - i, 120.0]])
    return np.concatenate([walk, np.random.rand(2, 2) * 2000 + 300])


for i in range(1, 71):
    places = frame_of(i)
    with torch.no_grad():
        crops = torch.rand(4, 3, 16, 16)
        embeddings = embedder(crops)
    tracks = tracker.update([Detection(p[None], scores=np.ones(1), data=e) for p, e in zip(places, embeddings)])
    at(i)
print("active", len(tracks), "kept", len(tracker.tracked_objects))
