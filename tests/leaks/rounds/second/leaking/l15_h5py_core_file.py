"""Features of every step are data sets of a file of HDF5 that is in memory."""
# after: h5py/h5py: driver="core", backing_store=False
# fix: a file on disk, or delete / reuse data sets
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "store"
# lines = ["data = store.create_dataset("]
# bytes = 132096  # 64 x 512 floats and about 1 KiB of HDF5's headers, in its library: outside tensors
# ///
import h5py
import torch
from torch import nn

torch.manual_seed(0)
store = h5py.File("features.h5", "w", driver="core", backing_store=False)
backbone = nn.Sequential(nn.Linear(32, 512), nn.GELU())
head = nn.Linear(512, 4)
opt = torch.optim.Adam([*backbone.parameters(), *head.parameters()], lr=1e-3)


def remember(step, features):
    data = store.create_dataset(f"step{step:04d}", data=features.detach().numpy())
    data.attrs["step"] = step


def recall(step):
    return torch.from_numpy(store[f"step{step:04d}"][:4])


drift = 0.0
for step in range(66):
    x = torch.randn(64, 32)
    y = torch.randint(0, 4, (64,))
    features = backbone(x)
    loss = nn.functional.cross_entropy(head(features), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    remember(step, features)
    drift = (recall(step) - recall(0)).abs().mean().item()
print("loss", loss.item(), "drift", drift, "data sets", len(store))
store.close()
