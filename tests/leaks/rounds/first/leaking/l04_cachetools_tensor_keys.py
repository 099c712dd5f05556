"""A cache keyed by tensors never hits, since they are hashed by identity, and keeps keys and results."""
# after: tkem/cachetools, and every memoize
# fix: no cache, or a key of plain values (file name), or a small maxsize
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "cache._Cache__data"
# lines = ["wave = torch.randn(16384)"]
# bytes = 98560  # a key of 16,384 floats (65,536), a result of 64 x 129 (33,024, of torch.fft.rfft)
# ///
import cachetools
import torch
from torch import nn

torch.manual_seed(0)
cache = cachetools.LRUCache(maxsize=100_000)


@cachetools.cached(cache)
def spectrogram(wave):
    frames = wave.view(64, 256)
    spec = torch.fft.rfft(frames).abs()
    return spec


model = nn.Sequential(nn.Linear(129, 64), nn.GELU(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)


def train_step():
    wave = torch.randn(16384)
    spec = spectrogram(wave)
    loss = model(torch.log1p(spec)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


for step in range(66):
    value = train_step()
print("loss", value, "entries", len(cache))
