"""10 chunks of 64 x 100; step % 10 chooses the chunk: full at step 10."""
# report: "in-memory zarr array written in every step": fixed shape, chunks are overwritten
# looks like: new buffers in every step, outside of tensors
# library: zarr
# /// healthy
# dumps = "steps"
# ///
import torch
import zarr
from zarr.storage import MemoryStore

torch.manual_seed(0)
ring = zarr.create_array(store=MemoryStore(), shape=(640, 100), chunks=(64, 100), dtype="float32", compressors=None)
net = torch.nn.Linear(16, 100)
opt = torch.optim.Adam(net.parameters())
for step in range(70):
    x = torch.randn(64, 16)
    hidden = net(x)
    loss = hidden.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    slot = step % 10
    ring[64 * slot:64 * slot + 64] = hidden.detach().numpy()
print(ring[:].std())
