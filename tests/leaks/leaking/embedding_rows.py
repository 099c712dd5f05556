"""encode() extends a list by the rows of each batch: views, whose batch still has its graph, since nobody said no_grad."""
# huggingface/sentence-transformers#487: VRAM use grows when using SentenceTransformer.encode + potential fix.
# huggingface/sentence-transformers#296: fix(forward): detach tensors from computationnal graph to release gpu
# /// leak
# dumps = "requests"
# kinds = ["accumulated-graph", "container"]
# holder = "all_embeddings"
# lines = ["tokens = torch.tanh("]
# bytes = 140288  # 16 sentences x 8 words x 128 floats, as embedded and after tanh; the mean of 16 x 128; 16 x 8 numbers of 8 bytes
# ///
import sys

import torch
from torch import nn


class SentenceTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.dense = nn.Embedding(1000, 128), nn.Linear(128, 128)

    def encode_batch(self, ids):
        tokens = torch.tanh(self.dense(self.words(ids)))
        return tokens.mean(1)


class Index:
    def __init__(self):
        self.model = SentenceTransformer().eval()
        self.all_embeddings = []

    def add(self, ids):
        embeddings = self.model.encode_batch(ids)
        self.all_embeddings.extend(embeddings)
        return len(self.all_embeddings)


index = Index()
for line in sys.stdin:
    print(index.add(torch.randint(1000, (16, 8))), flush=True)
