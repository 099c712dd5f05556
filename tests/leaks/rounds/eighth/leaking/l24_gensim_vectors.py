"""Numpy array that a library replaces by a larger one, with gensim."""
# after: issue "KeyedVectors.add_vector in a loop: memory grows" (an index of embeddings that is never cut)
# fix: a new KeyedVectors every 10 steps (FIX)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "index.vectors"  # `index.vectors` (numpy array of KeyedVectors; index.key_to_index and index.index_to_key beside it)
# lines = []
# bytes = 16384  # 16 vectors x 256 x 4 = 16384 a step; outside tensors; measured malloc in use +19.5 KB a step: 16384 and 16 keys
# ///
import os
import torch
from gensim.models import KeyedVectors

torch.manual_seed(0)
encoder = torch.nn.Linear(32, 256)
opt = torch.optim.Adam(encoder.parameters())
index = KeyedVectors(vector_size=256)

for step in range(70):
    x = torch.randn(16, 32)
    z = encoder(x)
    loss = (z.norm(dim=1) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if os.environ.get("FIX") and step % 10 == 0:
        index = KeyedVectors(vector_size=256)
    index.add_vectors(["doc%d" % (16 * step + i) for i in range(16)], z.detach().numpy())
print(index.vectors.shape, index.most_similar("doc1104" if not os.environ.get("FIX") else "doc1104", topn=2))
