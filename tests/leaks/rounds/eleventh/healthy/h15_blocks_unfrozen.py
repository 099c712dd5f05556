"""One more block is unfrozen at steps 4, 8, 12, 16 (the last): Adam's state and gradients of a block come with its first step; nothing more after step 17."""
# looks like: optimizer state that grows
# library: torch.optim
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128)) for _ in range(4))
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        for b in self.blocks:
            x = x + b(x)
        return self.head(x)


net = Net()
for b in net.blocks:
    b.requires_grad_(False)
optimizer = torch.optim.Adam(net.head.parameters(), lr=1e-3)
frozen = list(net.blocks)
for step in range(1, 91):
    if step % 4 == 0 and frozen:
        block = frozen.pop().requires_grad_(True)
        optimizer.add_param_group({"params": list(block.parameters()), "lr": 1e-3 / 2.6 ** (4 - len(frozen))})
    x, y = torch.randn(64, 128), torch.randint(10, (64,))
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(len(optimizer.param_groups), round(loss.item(), 3))
