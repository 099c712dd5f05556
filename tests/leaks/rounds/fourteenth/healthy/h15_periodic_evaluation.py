"""Every 7th step an evaluation gathers logits of 12 batches in a list, concatenates and clears it: a peak of 1 MiB, nothing after. The list object itself lives as long as the trainer."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 100))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
outputs, scores = [], []
for step in range(1, 161):
    x = torch.randn(200, 64)
    loss = nn.functional.cross_entropy(model(x), x[:, :60].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    if step % 7 == 0:
        with torch.no_grad():
            for _ in range(12):
                outputs.append(model(torch.randn(200, 64)))
        scores.append(torch.cat(outputs).std().item())
        outputs.clear()
    optimizer.step()
print(len(scores), scores[-1])
