"""Predictions of each step are moved to numpy and kept: no tensor grows, the process does."""
# huggingface/transformers#8143: Trainer makes RAM go out of memory after a while
# /// leak
# dumps = "steps"
# kinds = ["process-memory"]
# holder = "host_preds"
# lines = []
# bytes = [4000000, 4400000]  # 1024 x 1024 floats, a copy
# ///
import torch
from torch import nn

model = nn.Linear(32, 1024)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
host_preds = []
for step in range(60):
    logits = model(torch.randn(1024, 32))
    loss = logits.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    host_preds.append(logits.detach().numpy().copy())
