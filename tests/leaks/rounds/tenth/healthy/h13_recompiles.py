"""Dynamo compiles once per mode (train, eval) and once more with dynamic sizes: all by step 11 (first evaluation at step 10)."""
# about: A compiled model (backend aot_eager) recompiles for the first batch sizes, then takes a graph with symbolic sizes.
# report: "torch.compile memory grows while it recompiles" (warm up)
# kind: torch.compile's code cache, guards, graphs
# library: torch.compile
# /// healthy
# dumps = "steps"
# ///
import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(60, 120), nn.BatchNorm1d(120), nn.ReLU(), nn.Linear(120, 8))
    compiled = torch.compile(model, backend="aot_eager")
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    scores = []
    for step in range(1, 121):
        n = 32 + step * 7 % 96
        loss = nn.functional.cross_entropy(compiled(torch.randn(n, 60)), torch.randint(8, (n,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0:
            compiled.eval()
            with torch.no_grad():
                scores.append(float(compiled(torch.randn(64, 60)).softmax(-1).max()))
            compiled.train()
    print(scores[-1], loss.item())


if __name__ == "__main__":
    main()
