"""A dataset that is read into memory at the start, in a list of tensors."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

dataset = [(torch.randn(3, 16, 16), torch.randint(10, ())) for _ in range(500)]
model = nn.Sequential(nn.Flatten(), nn.Linear(768, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(60):
    images, labels = map(torch.stack, zip(*dataset[8 * step:8 * step + 8]))
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
