"""Episodes that refer to themselves (owner <-> steps) are garbage that only the collector frees; automatic collection is off and gc.collect() runs every 8 steps, as serving programs do it. Garbage at the dumps: steps 20, 40, 60 have 4, 8 (collected in the step's end), 4 episodes of 64 KiB: a saw-tooth, no growth."""
# /// healthy
# dumps = "asks"
# ///
import gc
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
gc.disable()
net = nn.Linear(128, 128).eval()


class Episode:
    def __init__(self):
        self.steps = []

    def add(self, x):
        self.steps.append({"episode": self, "state": x})


score = 0.0
for i in range(1, 121):
    episode = Episode()
    for _ in range(4):
        with torch.no_grad():
            episode.add(net(torch.randn(32, 128)))
    score += episode.steps[-1]["state"].mean().item()
    at(i)
    if i % 8 == 0:
        gc.collect()
print(score)
