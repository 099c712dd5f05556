"""A training loop keeps every batch's output for the end of an epoch that takes days; detached, but all on the device."""
# Lightning-AI/pytorch-lightning#1510: Memory (CPU and GPU) leaks during the 1st epoch
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "outputs"
# lines = ["logits = model("]
# bytes = 25604  # logits of 64 x 100 floats and the loss
# ///
import torch
from torch import nn


def detached(value):
    if isinstance(value, dict):
        return {key: detached(item) for key, item in value.items()}
    return value.detach()


def run_training_epoch(model, optimizer, batches):
    outputs = []
    for batch_idx in range(batches):
        x, y = torch.randn(64, 32), torch.randint(100, (64,))
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        outputs.append(detached({"loss": loss, "log": {"logits": logits}}))
    return outputs


model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 100))
print(len(run_training_epoch(model, torch.optim.SGD(model.parameters(), lr=0.1), 60)))
