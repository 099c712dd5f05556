"""TorchScript functions in the global compilation unit keep constants (C++), with torch.jit."""
# after: "torch.jit.trace leaks memory when called repeatedly": a function is traced for each request, its mask goes into the graph as a constant
# fix: trace once, the mask as an argument (FIX: not traced)
# /// leak
# dumps = "asks"
# kinds = ["cpp-only", "container", "module-cache"]
# holder = "_python_cu"  # torch.jit._state._python_cu (C++: graphs of the traced functions, prim::Constant of the mask); no Python name
# lines = ["mask = torch.zeros(n, n).masked_fill(torch.rand(n, n) < 0.1,"]
# bytes = 102400  # 102400 in tensors; malloc in use grows by 190500 (88 KB of C++ graphs), RSS by 1 MiB (mask 160x160 float32)
# ///
import os
import warnings

warnings.filterwarnings("ignore")
import torch
import torch.nn as nn
from ask import at

torch.manual_seed(0)
qkv = nn.Linear(64, 192).eval()


def attention(q, k, v, mask):
    return ((q @ k.T) / 8 + mask).softmax(-1) @ v


norms = []
for i in range(1, 81):
    n = 160
    mask = torch.zeros(n, n).masked_fill(torch.rand(n, n) < 0.1, float("-inf"))
    with torch.no_grad():
        q, k, v = qkv(torch.randn(n, 64)).split(64, 1)
        fn = lambda q, k, v: attention(q, k, v, mask)
        if not os.environ.get("FIX"):
            fn = torch.jit.trace(fn, (q, k, v), check_trace=False)
        norms.append(fn(q, k, v).norm().item())
    at(i)
print(len(norms), round(sum(norms), 1))
