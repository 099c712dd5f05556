"""The tables of rotary angles and the causal mask are made anew for the longest sequence so far; lengths are 16 to 256, the longest comes at step 14."""
# looks like: buffers of the model that are replaced by larger ones
# library: torch only
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.register_buffer("cos", torch.zeros(0, d // 2), persistent=False)
        self.register_buffer("sin", torch.zeros(0, d // 2), persistent=False)
        self.register_buffer("mask", torch.zeros(0, 0, dtype=torch.bool), persistent=False)

    def tables(self, n):
        if n > len(self.cos):
            angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(32) / 32)
            self.cos, self.sin = angle.cos(), angle.sin()
            self.mask = torch.ones(n, n, dtype=torch.bool).triu(1)
        return self.cos[:n], self.sin[:n], self.mask[:n, :n]

    def forward(self, x):
        cos, sin, mask = self.tables(x.shape[1])

        def rotate(t):
            a, b = t.chunk(2, -1)
            return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)
        q, k, v = self.qkv(x).chunk(3, -1)
        w = (rotate(q) @ rotate(k).transpose(1, 2) / 8).masked_fill(mask, float("-inf")).softmax(-1)
        return x + self.out(w @ v)


emb, net, head = nn.Embedding(500, 64), nn.Sequential(Attention(), Attention()), nn.Linear(64, 500)
optimizer = torch.optim.AdamW([*emb.parameters(), *net.parameters(), *head.parameters()], lr=1e-3)
for step in range(1, 81):
    n = 256 if step % 14 == 0 else int(torch.randint(16, 200, ()))
    tokens = torch.randint(500, (4, n + 1))
    loss = nn.functional.cross_entropy(head(net(emb(tokens[:, :-1]))).flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(round(loss.item(), 3))
