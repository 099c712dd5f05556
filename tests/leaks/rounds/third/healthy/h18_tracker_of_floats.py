"""A run tracker keeps 40 numbers per step (Python floats) in dicts of lists for 66 steps: some KB in all, tensors are read by .item()."""
# /// healthy
# dumps = "steps"
# ///
from collections import defaultdict
import torch
from lightning.fabric.utilities.throughput import Throughput

torch.manual_seed(0)
torch.set_num_threads(1)

model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(8)])
opt = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
history = defaultdict(list)
throughput = Throughput(window_size=10)
for step in range(1, 67):
    x = torch.randn(16, 64)
    loss = (model(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    history["loss"].append(loss.item())
    for name, p in model.named_parameters():
        history[f"norm/{name}"].append(p.detach().norm().item())
        history[f"grad/{name}"].append(p.grad.norm().item())
    throughput.update(time=float(step), batches=step, samples=step * 16)
print({k: round(v[-1], 3) for k, v in list(history.items())[:2]}, throughput.compute().keys().__len__())
