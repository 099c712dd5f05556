"""A cache with weak references: an image embedding lives as long as one of the last ten sessions uses it."""
# /// healthy
# dumps = "requests"
# ///
import random
import sys
import weakref

import torch
from torch import nn


class Embedding:
    def __init__(self, value):
        self.value = value


class Session:
    def __init__(self, number):
        self.number, self.embeddings = number, []


encoder = nn.Linear(256, 64 * 64)
cache = weakref.WeakValueDictionary()
sessions = []
random.seed(2)


@torch.no_grad()
def embed(image):
    found = cache.get(image)
    if found is None:
        found = cache[image] = Embedding(encoder(torch.rand(256)).view(64, 64))
    return found


for number, line in enumerate(sys.stdin):
    session = Session(number)
    session.embeddings = [embed(random.randrange(50)) for _ in range(3)]
    sessions.append(session)
    if len(sessions) > 10:
        sessions.pop(0)
    print(sum(embedding.value.mean().item() for embedding in session.embeddings), len(cache), flush=True)
