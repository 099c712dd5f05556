"""Cache decorator whose keys never repeat, with e3nn, toolz (memoize)."""
# after: "memory grows when augmenting with random rotations, Wigner matrices are memoized" (e3nn users)
# fix: no @memoize for random rotations
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holders = ["wigner", "cache"]  # cache of wigner (closure of wigner: cache)
# lines = ["return irreps.D_from_matrix(R)"]
# bytes = 43264  # storage 4*52*52*4
# ///
import os
import torch
from toolz import memoize
from e3nn import o3
from torch import nn

torch.manual_seed(0)
irreps = o3.Irreps("8x0e + 8x1o + 4x2e")


def wigner(R):
    return irreps.D_from_matrix(R)


if not os.environ.get("FIX"):
    wigner = memoize(wigner, key=lambda args, kwargs: tuple(args[0].flatten().tolist()))

lin = o3.Linear(irreps, o3.Irreps("1x0e"))
opt = torch.optim.SGD(lin.parameters(), lr=0.01)
for step in range(64):
    feats = irreps.randn(32, -1)
    R = o3.rand_matrix(4)
    D = wigner(R)
    rotated = torch.einsum("kij,bj->kbi", D, feats)
    loss = (lin(rotated) - lin(feats).detach()).pow(2).mean() + lin(feats).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
