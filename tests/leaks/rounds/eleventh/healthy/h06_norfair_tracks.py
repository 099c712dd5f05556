"""Tracks end when their hit counter is 0 (hit_counter_max=3), each keeps at most 4 past detections: some 8 tracks alive at any time; steady from step 8 on."""
# looks like: new tracks with embeddings (tensors) in every frame, ids go up without end
# library: norfair
# /// healthy
# dumps = "asks"
# ///
import numpy as np
import torch
import torch.nn as nn
from norfair import Detection, Tracker
from ask import at

torch.manual_seed(0)
np.random.seed(0)
embedder = nn.Sequential(nn.Flatten(), nn.Linear(768, 256), nn.ReLU(), nn.Linear(256, 512)).eval()
tracker = Tracker("euclidean", distance_threshold=20, hit_counter_max=3, initialization_delay=0)
for i in range(1, 76):
    places = np.concatenate([np.array([[10.0 + i, 50.0], [200.0 - i, 120.0]]), np.random.rand(2, 2) * 2000 + 300])
    with torch.no_grad():
        embeddings = embedder(torch.rand(4, 3, 16, 16))
    tracks = tracker.update([Detection(p[None], scores=np.ones(1), data=e.clone()) for p, e in zip(places, embeddings)])
    at(i)
print("tracks", len(tracker.tracked_objects), "total", tracker.total_object_count)
