"""Perceptual distances of a generator, collected without no_grad."""
# kind: results of an evaluation with graph in a list, with lpips
# after: PerceptualSimilarity issue "memory increases when I loop over images" (forgot torch.no_grad())
# fix: with torch.no_grad(): around the distance (here: distances.append(d.item())) (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "distances"
# lines = ["d = metric(fake, real)", "fake = generator(z)"]  # activations inside lpips
# bytes = 498492  # what the graph of one distance saves (activations of squeezenet-sized lpips network for 32x32 images); measured, bytes a step in 20..40, 40..60: tensors that gc sees 372928,372928, malloc in use 638800,640756, rss 649420,651878; storages the kept graph saves 498492; with FIX: malloc 229,202, rss 2048,1433; storages
# ///
import os
import warnings
import lpips
import torch
from torch import nn
from ask import at

warnings.simplefilter("ignore")
torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 3 * 32 * 32), nn.Tanh(), nn.Unflatten(1, (3, 32, 32)))
metric = lpips.LPIPS(net="squeeze", pretrained=False, pnet_rand=True, verbose=False).eval()
metric.requires_grad_(False)
distances = []
for i in range(1, 71):
    z = torch.randn(1, 16)
    real = torch.rand(1, 3, 32, 32) * 2 - 1
    fake = generator(z)
    d = metric(fake, real)
    distances.append(d.item() if os.environ.get("FIX") else d)
    if i % 10 == 0:
        print(i, "mean", float(sum(float(v) for v in distances) / len(distances)))
    at(i)
