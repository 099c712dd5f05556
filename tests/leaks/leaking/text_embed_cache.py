"""Text embeddings are cached by prompt while a data set is encoded; every caption is another one, and none leaves the cache."""
# bghira/SimpleTuner#243: bugfix: ever-increasing vram consumed by text embed caching
# /// leak
# dumps = "requests"
# kinds = ["container", "module-cache"]
# holder = "embeds"
# lines = ["hidden = "]
# bytes = 19968  # 77 x 64 floats and their mean
# ///
import sys

import torch
from torch import nn


class TextEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.norm = nn.Embedding(500, 64), nn.LayerNorm(64)

    def forward(self, ids):
        hidden = self.norm(self.embedding(ids))
        return hidden, hidden.mean(0)


class TextEmbeddingCache:
    def __init__(self, encoder):
        self.encoder, self.embeds = encoder, {}

    @torch.no_grad()
    def compute(self, prompt):
        if prompt not in self.embeds:
            self.embeds[prompt] = self.encoder(torch.randint(500, (77,)))
        return self.embeds[prompt]


cache = TextEmbeddingCache(TextEncoder())
for line in sys.stdin:
    prompt_embeds, pooled = cache.compute(f"a photo, number {line.strip()}")
    print(pooled.sum().item(), flush=True)
