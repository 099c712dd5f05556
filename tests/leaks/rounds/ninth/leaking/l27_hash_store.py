"""key-value store in C++, bytes outside of tensors, with torch.distributed.HashStore."""
# after: "we publish the gradients' sketch through the c10d store under a new key a step: the store's process grows" (distributed)
# fix: store.delete_key(f'sketch/{step - 1}')
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "store"  # store (HashStore in C++; keys 'sketch/<step>')
# lines = []
# bytes = 48947  # 64*128*4 = 32 KiB, as UTF-8 about 48 KiB of bytes in C++ a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 48.6, 48.2 (with FIX: 0.0, 0.0; 0.6, 0.4); correction: 47.8 KiB go when its keys are deleted
# ///
import os
import numpy as np
import torch
import torch.distributed as dist
from torch import nn

torch.manual_seed(0)
store = dist.HashStore()
model = nn.Linear(128, 64)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(1, 121):
    x = torch.randn(256, 128)
    loss = (model(x) - x[:, :64].cos()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    store.set(f"sketch/{step}", model.weight.grad.numpy().tobytes().decode("latin-1"))
    if step > 1:
        before = np.frombuffer(store.get(f"sketch/{step - 1}").decode("utf-8").encode("latin-1"), np.float32)
        if os.environ.get("FIX"):
            store.delete_key(f"sketch/{step - 1}")
    opt.step()
    if step % 40 == 0:
        print(step, round(loss.item(), 4), store.num_keys(), float(np.abs(before).mean()), flush=True)
