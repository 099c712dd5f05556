"""Batches by a budget of tokens: sequences wait in buckets by length until a bucket is full, and are padded then."""
# /// healthy
# dumps = "steps"
# ///
import random

import torch
from torch import nn


class BudgetSampler:
    def __init__(self, budget):
        self.budget, self.buckets = budget, {}

    def __iter__(self):
        while True:
            sequence = torch.randn(random.randint(16, 128), 32)
            edge = (len(sequence) + 31) // 32 * 32
            bucket = self.buckets.setdefault(edge, [])
            bucket.append(sequence)
            if len(bucket) * edge >= self.budget:
                self.buckets[edge] = []
                yield nn.utils.rnn.pad_sequence(bucket, batch_first=True)


random.seed(0)
model = nn.GRU(32, 32, batch_first=True)
optimizer = torch.optim.Adam(model.parameters())
for step, batch in zip(range(60), BudgetSampler(1024)):
    out, state = model(batch)
    loss = (out - batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
