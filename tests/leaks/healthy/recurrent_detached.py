"""The hidden state is carried on, detached."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

rnn, head = nn.GRU(16, 64), nn.Linear(64, 16)
optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
hidden = None
for step in range(60):
    x = torch.randn(8, 16, 16)
    output, hidden = rnn(x, hidden)
    loss = nn.functional.mse_loss(head(output), x.roll(-1, 0))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    hidden = hidden.detach()
