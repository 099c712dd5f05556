"""A cache of features with weak keys: each value refers to its key."""
# after: python/cpython: a WeakKeyDictionary does not free entries whose value refers to the key; pytorch's WeakTensorKeyDictionary
# fix: do not keep the key in the value (drop Entry.clip, or a weakref.ref to it)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "features"
# lines = ["yield torch.randn(64, 256)"]
# bytes = 98304  # 64 x 256 floats of a clip (65,536), 64 x 128 of its features
# ///
import torch
from dataclasses import dataclass
from torch.utils.weak import WeakTensorKeyDictionary
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)


@dataclass
class Entry:
    clip: torch.Tensor
    feats: torch.Tensor


features = WeakTensorKeyDictionary()


def encode(encoder, clip):
    entry = features.get(clip)
    if entry is None:
        with torch.no_grad():
            entry = features[clip] = Entry(clip, encoder(clip))
    return entry.feats


def clips(n):
    for _ in range(n):
        yield torch.randn(64, 256)


encoder = torch.nn.Sequential(torch.nn.Linear(256, 128), torch.nn.Tanh())
mean = 0.0
for step, clip in enumerate(clips(66), 1):
    a = encode(encoder, clip)
    b = encode(encoder, clip)          # the cache is hit here
    mean += (a * b).mean().item()
    at(step)
print(round(mean, 4))
