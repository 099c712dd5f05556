"""Linked list of a C extension, with llist."""
# after: "sliding window of features with llist grows": the window's size is checked in the wrong unit (frames, not chunks)
# fix: pop when there are more than 8 chunks (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "window"  # `window` (llist.dllist)
# lines = ["window.append(feats.detach().clone())"]
# bytes = 16384  # 2 x 8 x 256 x 4 = 16 KiB of tensor storages (measured); 16.9 KiB allocated bytes
# ///
import os

import torch
import torch.nn as nn
from llist import dllist

torch.manual_seed(0)
net = nn.Sequential(nn.Conv1d(4, 16, 5, padding=2), nn.ReLU(), nn.Conv1d(16, 8, 5, padding=2))
head = nn.Linear(8, 2)
opt = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=1e-3)
window = dllist()
LIMIT = 8 if os.environ.get("FIX") else 8 * 256  # chunks have 256 frames each; the list counts chunks

for step in range(1, 71):
    chunk, label = torch.randn(2, 4, 256), torch.randint(0, 2, (2,))
    feats = net(chunk)
    window.append(feats.detach().clone())
    while len(window) > LIMIT:
        window.popleft()
    context, node = [], window.last
    while node is not None and len(context) < 8:
        context.append(node.value.mean(-1))
        node = node.prev
    loss = nn.functional.cross_entropy(head(feats.mean(-1) + torch.stack(context).mean(0)), label)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(len(window))
