"""A server caches pipelines; those that fail while they load stay in the cache under a key that is never asked again."""
# dkackman/diffusers-workflow#72: Failed pipeline loads leak GPU/host memory instead of being released, and leaks accumulate across retries
# huggingface/diffusers#5270: Memory leak
# /// leak
# dumps = "requests"
# kinds = ["module-cache", "container"]
# holder = "pipelines"
# lines = ["self.unet = nn.Linear(", "self.vae = nn.Linear("]
# bytes = 82560  # 128 x 128 floats and 128, 128 x 32 and 32
# ///
import sys

import torch
from torch import nn


class Pipeline(nn.Module):
    def __init__(self):
        super().__init__()
        self.unet = nn.Linear(128, 128)
        self.vae = nn.Linear(128, 32)

    def offload(self, groups):
        if groups > 2:
            raise MemoryError(f"{groups} groups do not fit")


class Cache:
    def __init__(self):
        self.pipelines = {}

    def variant(self, prompt, groups):
        pipeline = self.pipelines[prompt, groups] = Pipeline()
        try:
            pipeline.offload(groups)
        except MemoryError:
            return self.pipelines.setdefault("plain", Pipeline())
        return pipeline


cache = Cache()
for line in sys.stdin:
    pipeline = cache.variant(line.strip(), groups=4)
    print(sum(p.numel() for p in pipeline.parameters()), flush=True)
