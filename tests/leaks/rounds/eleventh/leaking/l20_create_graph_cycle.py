"""Cycle in C++: param -> .grad -> graph -> AccumulateGrad -> param; no Python object holds it, with torch.autograd."""
# after: "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can cause a memory leak"
# fix: fast.zero_grad() before it is dropped (or torch.autograd.grad)
# /// leak
# dumps = "steps"
# kinds = ["graph-cycle", "reference-cycle"]
# holder = ".grad"  # no Python name: the .grad of each dropped fast model (fast.*.grad with a grad_fn)
# lines = ["fast = copy.deepcopy(model)", "inner.backward(create_graph=True)", "inner = nn.functional.mse_loss(fast(x), y)"]
# bytes = 38408  # about 71200: 38408 for weights and gradients (19204 each) and 32768 saved by the graph (4 x 32x64 float32); malloc in use grows by 73060; correction: 38,408 of tensors; the 32,768 do not exist, about 34,600 a step are nodes of C++
# ///
import copy
import os
import warnings

warnings.filterwarnings("ignore")
import torch
import torch.nn as nn

torch.manual_seed(0)


def task():
    a, b = torch.rand(2) * 3
    x = torch.rand(32, 8)
    return x, (a * x).sin().sum(1, keepdim=True) + b


model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(90):
    x, y = task()
    fast = copy.deepcopy(model)
    inner = nn.functional.mse_loss(fast(x), y)
    inner.backward(create_graph=True)
    sharpness = sum(p.grad.pow(2).sum() for p in fast.parameters())
    penalty = torch.autograd.grad(sharpness, list(fast.parameters()), allow_unused=True, materialize_grads=True)
    with torch.no_grad():
        for p, f, s in zip(model.parameters(), fast.parameters(), penalty):
            p.grad = f.grad.detach() + 0.01 * s
    optimizer.step()
    if os.environ.get("FIX"):
        fast.zero_grad(set_to_none=True)
    del fast, inner, sharpness, penalty
print("ok", round(sum(p.norm().item() for p in model.parameters()), 3))
