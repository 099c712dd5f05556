"""In-memory store of chunks, with zarr."""
# after: discussion "zarr array in a MemoryStore keeps growing while I append activations"
# fix: activations.resize((0, 100)) every 10 steps (FIX)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "store._store_dict"  # `store` (`store._store_dict`, a dict of the MemoryStore; `activations` is the array over it)
# lines = ["hidden = net[1](net[0](x))"]
# bytes = 25600  # 64 x 100 x 4 = 25600 a step (one uncompressed chunk); measured 25600 (by gc: the chunk is the storage of the torch tensor `hidden`, which numpy() shares); malloc +27.6..28.3 KB
# ///
import os
import torch
import zarr
from zarr.storage import MemoryStore

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 100), torch.nn.ReLU(), torch.nn.Linear(100, 1))
opt = torch.optim.Adam(net.parameters())
store = MemoryStore()
activations = zarr.create_array(store=store, shape=(0, 100), chunks=(64, 100), dtype="float32", compressors=None)

for step in range(70):
    x = torch.randn(64, 16)
    hidden = net[1](net[0](x))  # LEAK
    loss = (net[2](hidden) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    activations.append(hidden.detach().numpy())
    if os.environ.get("FIX") and step % 10 == 9:
        activations.resize((0, 100))
    opt.step()
print(activations.shape)
