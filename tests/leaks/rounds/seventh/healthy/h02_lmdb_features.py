"""Only pages of a mapped file (in the page cache, reclaimable); each step visits 512 KiB of a file of 40 MiB that it has not visited before. rss grows, nothing is allocated."""
# report: "LMDB dataset: RAM goes up until all is read": pages of the mapped file become resident while records are visited in order
# library: lmdb
# /// healthy
# dumps = "steps"
# ///
import os
import tempfile

import lmdb
import numpy as np
import torch
import torch.nn as nn

folder = tempfile.mkdtemp()
env = lmdb.open(folder, map_size=1 << 28, sync=False)
rng = np.random.default_rng(0)
with env.begin(write=True) as txn:
    for i in range(80 * 16):
        txn.put(f"{i:06d}".encode(), rng.standard_normal(8192).astype(np.float32).tobytes())
env.close()
env = lmdb.open(folder, readonly=True, lock=False, readahead=False)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8192, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
with env.begin(buffers=True) as txn:
    for step in range(70):
        rows = [np.frombuffer(txn.get(f"{step * 16 + j:06d}".encode()), dtype=np.float32) for j in range(16)]
        x = torch.from_numpy(np.stack(rows))
        loss = (net(x).squeeze(1) - x.mean(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(step, loss.item(), flush=True)
os.system(f"rm -r {folder}")
