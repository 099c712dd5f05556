"""torch.compile (backend eager) of a function that sees several lengths: compiled for the first length, once more with a symbolic length, then no more; warm-up ends by step 6."""
# looks like: memory (guards, graphs, code) grows during the first steps
# library: torch._dynamo
# /// healthy
# dumps = "steps"
# ///
import random

import torch
import torch.nn as nn

torch.manual_seed(0)
random.seed(0)
gru_in, gru_h = nn.Linear(16, 96), nn.Linear(32, 96)
head = nn.Linear(32, 4)


@torch.compile(backend="eager")
def pool(x):
    w = (x * x).mean(-1, keepdim=True).softmax(1)
    mean = (w * x).sum(1)
    spread = (w * (x - mean[:, None]).pow(2)).sum(1)
    return torch.tanh(mean + spread.sqrt())


params = [*gru_in.parameters(), *gru_h.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(params, lr=1e-3)
for step in range(90):
    n = [17, 29, 40][step] if step < 3 else random.randrange(8, 64)
    x, y = torch.randn(32, n, 16), torch.randint(4, (32,))
    h = torch.zeros(32, n, 32)
    r, z, c = gru_in(x).chunk(3, -1)
    a, b, d = gru_h(h).chunk(3, -1)
    h = torch.sigmoid(z + b) * torch.tanh(c + torch.sigmoid(r + a) * d)
    loss = nn.functional.cross_entropy(head(pool(h)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(round(loss.item(), 3))
