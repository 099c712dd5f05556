"""Sparse tensors in a list, sparse gradients, and what holds their indices and values."""
import json
import os

import libtensorscope
import torch

kept = [torch.eye(8).to_sparse() for _ in range(3)]
csr = torch.eye(8).to_sparse_csr()
embedding = torch.nn.Embedding(100, 16, sparse=True)
embedding(torch.tensor([1, 2, 3])).sum().backward()
gradient = embedding.weight.grad
with open(os.path.join(os.environ["TRUTH_DIR"], "sparse.json"), "w") as file:
    json.dump({"dump": libtensorscope.dump(), "gradient": gradient._cdata}, file)
