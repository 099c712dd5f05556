"""A history of losses and accuracies, without tensors."""
# /// healthy
# dumps = "steps"
# ///
import collections

import torch
from torch import nn

model = nn.Linear(64, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
history = collections.defaultdict(list)
for step in range(60):
    x, y = torch.randn(128, 64), torch.randint(10, (128,))
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history["loss"].append(loss.item())
    history["accuracy"].append((logits.argmax(1) == y).float().mean().item())
