"""A running sum of losses keeps the graph of every step; backward freed what the graphs had saved."""
# google/brax#152: Remove "memory leak" in PyTorch training example
# pytorch/pytorch#1217: loss.backward() cause cpu memory leak
# /// leak
# dumps = "steps"
# kinds = ["graph-nodes", "accumulated-graph"]
# holder = "total_loss"
# lines = ["total_loss += loss"]
# bytes = 0
# ///
import torch
from torch import nn

model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
criterion = nn.MSELoss()
total_loss = 0
for step in range(60):
    inputs, targets = torch.randn(32, 64), torch.randn(32, 1)
    optimizer.zero_grad()
    loss = criterion(model(inputs), targets)
    loss.backward()
    optimizer.step()
    total_loss += loss
print(f"mean loss {total_loss.item() / 60:.4f}")
