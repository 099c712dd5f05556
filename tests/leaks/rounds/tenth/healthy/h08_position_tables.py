"""Sizes are rounded up to multiples of 8: 3 x 3 = 9 keys, maxsize 12; all nine are there at step 14 (drawn at random, seed 5)."""
# about: Variable resolutions with a cache of rotary tables by bucket: twelve shapes at most.
# report: "cache of position tables grows during the first epoch"
# kind: functools.lru_cache with a bound; warm up of shapes
# library: rotary-embedding-torch
# /// healthy
# dumps = "steps"
# ///
import functools
import random

import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb
from torch import nn

rope = RotaryEmbedding(dim=16, freqs_for="pixel", max_freq=64)


@functools.lru_cache(maxsize=12)
def table(h, w):
    with torch.no_grad():
        return rope.get_axial_freqs(h, w).contiguous()


def main():
    torch.manual_seed(0)
    rng = random.Random(5)
    q, head = nn.Linear(12, 32), nn.Linear(32, 1)
    opt = torch.optim.SGD([*q.parameters(), *head.parameters()], lr=0.01, momentum=0.9)
    for step in range(1, 121):
        h, w = (-(-rng.randint(9, 32) // 8) * 8 for _ in range(2))
        x = apply_rotary_emb(table(h, w), q(torch.randn(4, h, w, 12)))
        loss = (head(x.flatten(1, 2).mean(1)) - 1).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(table.cache_info(), loss.item())


if __name__ == "__main__":
    main()
