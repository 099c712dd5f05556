"""A loader enters itself in a shared state and leaves it after its last batch, which a loop with `break` never takes."""
# huggingface/accelerate#2234: Accelerator does not release prepared datasets from memory which were only partly traversed.
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "active_dataloaders"
# lines = ["data = torch.randn("]
# bytes = 32768  # 256 x 32 floats
# ///
import torch
from torch import nn


class GradientState:
    _shared_state = {}

    def __init__(self):
        self.__dict__ = self._shared_state
        if not self._shared_state:
            self.active_dataloaders = []


class DataLoaderShard:
    def __init__(self, data, batch_size):
        self.data, self.batch_size, self.gradient_state = data, batch_size, GradientState()

    def __iter__(self):
        self.gradient_state.active_dataloaders.append(self)
        for first in range(0, len(self.data), self.batch_size):
            yield self.data[first:first + self.batch_size]
        self.gradient_state.active_dataloaders.remove(self)


model = nn.Linear(32, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for episode in range(60):
    data = torch.randn(256, 32)
    for batch in DataLoaderShard(data, 16):
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        break
