"""A recommender with sparse embeddings; a hook keeps each gradient to look for hot items later."""
# kind: Tensor hook; closure's list; sparse tensors (indices and values), with torch.sparse.
# after: "post_accumulate_grad_hook statistics leak", sparse gradients of nn.Embedding(sparse=True)
# fix: count the items instead (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "touched"  # `touched` in the closure of the hook `remember` (a list of sparse tensors), registered on `items.weight`
# lines = ["loss.backward()"]
# bytes = 36864  # 512 indices int64 (4096) + values 512 x 16 float32 (32768) = 36864 a step (uncoalesced); measured 36.0 KiB
# ///
import os

import torch
from torch import nn


def watch(weight):
    touched = []
    counts = torch.zeros(weight.shape[0], dtype=torch.long)

    def remember(p):
        if os.environ.get("FIX"):
            idx = p.grad._indices()[0]
            counts.index_add_(0, idx, torch.ones_like(idx))
        else:
            touched.append(p.grad)

    weight.register_post_accumulate_grad_hook(remember)
    return counts


def main():
    torch.manual_seed(0)
    items = nn.Embedding(5000, 16, sparse=True)
    users = nn.Linear(10, 16)
    watch(items.weight)
    sparse = torch.optim.SparseAdam(items.parameters(), lr=0.01)
    for step in range(1, 91):
        ids = torch.randint(5000, (512,))
        score = (items(ids) * users(torch.randn(512, 10))).sum(-1)
        loss = nn.functional.binary_cross_entropy_with_logits(score, torch.rand(512))
        sparse.zero_grad()
        loss.backward()
        sparse.step()
        with torch.no_grad():
            for p in users.parameters():
                p -= 0.01 * p.grad
                p.grad = None
    print(loss.item())


if __name__ == "__main__":
    main()
