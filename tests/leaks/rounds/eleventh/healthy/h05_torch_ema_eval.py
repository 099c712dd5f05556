"""One copy of the weights (shadow) for EMA, and another one (collected) only inside average_parameters(); both of fixed size."""
# looks like: copies of parameters are made again and again, each evaluation replaces them
# library: torch-ema
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn
from torch_ema import ExponentialMovingAverage

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 512), nn.SiLU(), nn.Linear(512, 512), nn.SiLU(), nn.Linear(512, 10))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
ema = ExponentialMovingAverage(net.parameters(), decay=0.99)
held_x, held_y = torch.randn(256, 64), torch.randint(10, (256,))
best, best_state = 0.0, None
for step in range(1, 91):
    x, y = torch.randn(64, 64), torch.randint(10, (64,))
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update()
    if step % 4 == 0:
        with torch.no_grad(), ema.average_parameters():
            acc = (net(held_x).argmax(1) == held_y).float().mean().item()
            if acc >= best:
                best, best_state = acc, {k: v.clone() for k, v in net.state_dict().items()}
print(round(best, 3))
