"""A datasets.Dataset is shuffled anew and formatted as torch for each epoch of 8 steps; the indices of the epoch before are dropped. Constant after the first epoch."""
# library: datasets
# /// healthy
# dumps = "steps"
# ///
import datasets
import torch
from torch import nn

datasets.disable_progress_bars()
torch.manual_seed(0)
x = torch.randn(512, 32)
base = datasets.Dataset.from_dict({"x": x.numpy(), "y": (x.sum(1) > 0).long().numpy()}).with_format("torch")
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(12):
    shuffled = base.shuffle(seed=epoch, keep_in_memory=True)
    for batch in shuffled.iter(batch_size=64):
        loss = nn.functional.cross_entropy(model(batch["x"]), batch["y"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
