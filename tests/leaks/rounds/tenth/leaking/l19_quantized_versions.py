"""After every step the model is quantized (dynamic int8) and compared; all versions are kept "to pick the best"."""
# kind: quantization; packed weights are C++ objects outside of torch's allocator, biases and other modules are tensors, with torch.ao.quantization.
# after: "Memory increases with each quantize_dynamic call" / keeping quantized copies
# fix: keep the best one only (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache", "process-memory"]
# holder = "versions"  # `versions` (list of (score, model))
# lines = ["small = quantize_dynamic(model, {nn.Linear}, dtype=torch.qin"]
# bytes = 180634  # int8 weights 256 x 256 + 256 x 16 = 69632, packed (the engine adds its own layout), plus biases, LayerNorm 2 x 256 x 4 and Python's module objects: measured 177 KiB of malloc in use, of which 3.1 KiB are tensors that Python sees (LayerNorm, biases); int8 weights are in packed C++ objects; correction: 176.4 KiB of malloc a step, all of it go when it is cleared
# ///
import os
import warnings

import torch
from torch import nn
from torch.ao.quantization import quantize_dynamic

warnings.simplefilter("ignore")


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 256), nn.LayerNorm(256), nn.ReLU(), nn.Linear(256, 16))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    probe = torch.randn(32, 256)
    versions = []
    for step in range(1, 81):
        x, y = torch.randn(128, 256), torch.randint(16, (128,))
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        small = quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
        with torch.no_grad():
            error = (small(probe) - model(probe)).abs().mean().item()
        versions.append((error, small))
        if os.environ.get("FIX"):
            versions = [min(versions, key=lambda v: v[0])]
    print(len(versions), "versions, best", min(v[0] for v in versions))


if __name__ == "__main__":
    main()
