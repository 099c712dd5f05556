"""512 elements of 64 floats are allocated at the start; 64 are added a step (full after step 8), then the oldest 64 are marked deleted and replaced."""
# report: "hnswlib index grows until max_elements"
# kind: index of fixed size in C++, deleted elements are replaced
# library: hnswlib
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 1.0, 0.3
# /// healthy
# dumps = "steps"
# ///
import hnswlib
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 64))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
index = hnswlib.Index(space="l2", dim=64)
index.init_index(max_elements=512, ef_construction=40, M=8, allow_replace_deleted=True)
index.set_num_threads(1)
for step in range(1, 101):
    x = torch.randn(64, 32)
    z = model(x)
    loss = (torch.cdist(z, z) - torch.cdist(x, x)).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step > 8:
        for old in range(64 * (step - 9), 64 * (step - 8)):
            index.mark_deleted(old)
    index.add_items(z.detach().numpy(), np.arange(64 * (step - 1), 64 * step), replace_deleted=step > 8)
    labels, distances = index.knn_query(z.detach().numpy()[:4], k=3)
    if step % 25 == 0:
        print(step, index.get_current_count(), round(loss.item(), 4), flush=True)
