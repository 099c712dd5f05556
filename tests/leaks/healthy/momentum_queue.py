"""Momentum contrast: a queue of keys of fixed size that is written round and round, and an encoder that follows the other one."""
# /// healthy
# dumps = "steps"
# ///
import copy

import torch
from torch import nn


class MoCo(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.query, self.key = encoder, copy.deepcopy(encoder).requires_grad_(False)
        self.register_buffer("queue", nn.functional.normalize(torch.randn(64, 512), dim=0))
        self.pointer = 0

    def forward(self, images):
        with torch.no_grad():
            for key, query in zip(self.key.parameters(), self.query.parameters()):
                key.mul_(0.99).add_(query, alpha=0.01)
            keys = nn.functional.normalize(self.key(images + 0.1 * torch.randn_like(images)), dim=1)
        queries = nn.functional.normalize(self.query(images), dim=1)
        logits = torch.cat([(queries * keys).sum(1, keepdim=True), queries @ self.queue.clone()], 1) / 0.07
        self.queue[:, self.pointer:self.pointer + len(keys)] = keys.T
        self.pointer = (self.pointer + len(keys)) % 512
        return nn.functional.cross_entropy(logits, torch.zeros(len(keys), dtype=torch.long))


model = MoCo(nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 64)))
optimizer = torch.optim.SGD(model.query.parameters(), lr=0.03, momentum=0.9)
history = []
for step in range(60):
    loss = model(torch.randn(32, 128))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())
