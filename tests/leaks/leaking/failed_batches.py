"""Batches that fail are written down with their exception; its traceback keeps the locals of every frame."""
# pytorch/pytorch#10348: Possible memory leak when exceptions are raised
# huggingface/trl#5776: Fix OOM in CI by clearing chained exception tracebacks
# /// leak
# dumps = "steps"
# kinds = ["traceback"]
# holder = "failures"
# lines = ["batch = torch.randn(", "hidden = torch.relu("]
# bytes = 98304  # a batch of 64 x 128 floats, two activations of as many
# ///
import torch
from torch import nn

model = nn.Linear(128, 128)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
failures = []


def evaluate(number):
    batch = torch.randn(64, 128)
    with torch.no_grad():
        hidden = torch.relu(model(batch))
        doubled = hidden * 2
    if number % 2 == 0 or doubled.shape[0]:
        raise ValueError(f"batch {number}: no labels")
    return doubled


for step in range(60):
    loss = model(torch.randn(8, 128)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    try:
        evaluate(step)
    except ValueError as error:
        failures.append(error)
    optimizer.step()
print(len(failures))
