"""Leaves that no optimizer steps: how often their gradients were changed in place."""
import json
import os
import pathlib

import torch
from torch import nn

model = nn.Linear(8, 8)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
scale = torch.ones(2048, 1, 8, requires_grad=True)
once = torch.ones(8, requires_grad=True)
with torch.inference_mode():
    without_counter = torch.ones(16)

for step in range(5):
    optimizer.zero_grad()
    loss = (model(torch.ones(4, 8)) * scale).sum()
    if step == 2:
        loss = loss + once.sum()
    loss.backward()
    optimizer.step()

changed = torch.ones(32)
for _ in range(300):
    changed.add_(1)
view = changed[:4]  # shares the counter
view.mul_(2)

known = {"scale": scale, "once": once, "scale.grad": scale.grad, "once.grad": once.grad, "changed": changed, "view": view,
         "model.weight": model.weight, "model.weight.grad": model.weight.grad}
truth = {name: [tensor._cdata, tensor._version] for name, tensor in known.items()}
truth["without_counter"] = [without_counter._cdata, None]
pathlib.Path(os.environ["TRUTH_DIR"], "versions.json").write_text(json.dumps(truth))
