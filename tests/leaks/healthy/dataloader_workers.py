"""Two workers that prefetch, epoch after epoch."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    loader = DataLoader(TensorDataset(torch.randn(320, 64)), batch_size=32, num_workers=2, persistent_workers=True)
    model = nn.Linear(64, 64)
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(6):
        for (batch,) in loader:
            loss = (model(batch) - batch).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


main()
