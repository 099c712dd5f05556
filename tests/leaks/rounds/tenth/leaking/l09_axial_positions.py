"""A vision model on images of every resolution; the axial rotary frequencies are cached by (height, width)."""
# kind: Unbounded cache in a module attribute (dict by shape), nearly every key new; sizes vary, with rotary-embedding-torch.
# after: "position cache keyed by resolution never evicts" (rotary embeddings, variable resolution training)
# fix: keep at most 8 resolutions (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "model.freqs_cache"  # `model.freqs_cache`
# lines = ["self.freqs_cache[key] = self.rope.get_axial_freqs(h, w).cont"]
# bytes = [48128, 58368]  # h x w x 32 float32 for each new (h, w), h and w from 8 to 31, drawn: about 380 x 128 B = 48 KiB a new key; nearly all keys are new; measured 57 KiB a step from 20 to 40, 47 KiB from 40 to 60
# ///
import os
import random

import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb
from torch import nn


class Axial(nn.Module):
    def __init__(self):
        super().__init__()
        self.rope = RotaryEmbedding(dim=16, freqs_for="pixel", max_freq=64)
        self.q = nn.Linear(12, 32)
        self.k = nn.Linear(12, 32)
        self.head = nn.Linear(32, 1)
        self.freqs_cache = {}

    def freqs(self, h, w):
        key = (h, w)
        if key not in self.freqs_cache:
            if os.environ.get("FIX") and len(self.freqs_cache) >= 8:
                self.freqs_cache.pop(next(iter(self.freqs_cache)))
            with torch.no_grad():
                self.freqs_cache[key] = self.rope.get_axial_freqs(h, w).contiguous()
        return self.freqs_cache[key]

    def forward(self, x):
        f = self.freqs(x.shape[1], x.shape[2])
        q = apply_rotary_emb(f, self.q(x)).flatten(1, 2)
        k = apply_rotary_emb(f, self.k(x)).flatten(1, 2)
        pooled = nn.functional.scaled_dot_product_attention(q, k, k).mean(1)
        return self.head(pooled)


def main():
    torch.manual_seed(0)
    rng = random.Random(3)
    model = Axial()
    opt = torch.optim.RMSprop([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    for step in range(1, 91):
        h, w = rng.randint(8, 31), rng.randint(8, 31)
        out = model(torch.randn(2, h, w, 12))
        loss = (out - 1).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("resolutions", len(model.freqs_cache), loss.item())


if __name__ == "__main__":
    main()
