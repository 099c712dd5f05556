"""Lengths 64, 128, ... 320 come in random order; memory follows the batch and nothing is kept over steps. Dumps at steps with different lengths differ."""
# report: "activation memory jumps from batch to batch with bucketed lengths"
# kind: lengths that change from batch to batch
# library: local-attention
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 6.5, 0.0; all malloc'd 7.0, 0.2
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from local_attention import LocalAttention

torch.manual_seed(0)
embed = nn.Embedding(50, 3 * 32)
attend = LocalAttention(dim=16, window_size=32, causal=True, look_backward=1, autopad=True)
head = nn.Linear(32, 50)
opt = torch.optim.AdamW([*embed.parameters(), *head.parameters()], lr=1e-3)
for step in range(1, 81):
    length = 64 * torch.randint(1, 6, (1,)).item()
    ids = torch.randint(0, 50, (4, length + 1))
    q, k, v = embed(ids[:, :-1]).view(4, length, 3, 2, 16).permute(2, 0, 3, 1, 4)
    out = attend(q, k, v).transpose(1, 2).reshape(4, length, 32)
    loss = nn.functional.cross_entropy(head(out).flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, length, round(loss.item(), 4), flush=True)
