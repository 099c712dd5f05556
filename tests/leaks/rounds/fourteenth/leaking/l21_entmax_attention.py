"""List of tensors with graphs; custom autograd.Function of entmax (saved tensors)."""
# after: attention statistics kept with their graph
# fix: density.append(weights.detach().mean((0, 1))) (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "density"
# lines = ["head(attention(x[:4]))", "scores = self.q(x) @ self.k(x).transpose(1, 2) / x.shape[-1]", "self.last = entmax15(scores, dim=-1)", "x = torch.randn(8, 24, 32)"]  # correction: the header said the first one; forward(), called from there, makes it, and the last one the batch
# bytes = 58472  # 58,472 measured: all storages that the kept graph reaches (q, k 4x24x32x4 each, scores, entmax's saved 4x24x24x4, the 8x24x32 batch whose slice x[:4] is saved); malloc 73,800 (upper end). With FIX 96 B a step remain
# ///
import os
import torch
from entmax import entmax15
from torch import nn

torch.manual_seed(0)


class SparseAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / x.shape[-1] ** 0.5
        self.last = entmax15(scores, dim=-1)
        return self.last @ self.v(x)


attention, head = SparseAttention(32), nn.Linear(32, 4)
optimizer = torch.optim.Adam([*attention.parameters(), *head.parameters()])
density = []
for step in range(1, 151):
    x = torch.randn(8, 24, 32)
    y = torch.randint(0, 4, (8,))
    loss = nn.functional.cross_entropy(head(attention(x).mean(1)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    attention.eval()
    head(attention(x[:4]))
    weights = attention.last
    density.append(weights.detach().mean((0, 1)) if os.environ.get("FIX") else weights.mean((0, 1)))
    attention.train()
print(torch.stack([d.detach() for d in density]).mean().item())
