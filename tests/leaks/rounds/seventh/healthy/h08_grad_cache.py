"""A list of at most 8 entries, cleared at each 8th step; dumps at 20, 40, 60 see 4, 8 or 0, 4 entries: it goes up and down."""
# report: "contrastive training with GradCache: list grows": embeddings of micro batches are collected for 8 steps, then used and cleared
# library: torch
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn

torch.manual_seed(0)
tower = nn.Sequential(nn.Linear(40, 160), nn.ReLU(), nn.Linear(160, 64))
opt = torch.optim.AdamW(tower.parameters(), lr=1e-3)
collected = []
for step in range(66):
    a = torch.randn(128, 40)
    b = a + 0.1 * torch.randn_like(a)
    za, zb = tower(a), tower(b)
    logits = nn.functional.normalize(za) @ nn.functional.normalize(zb).T / 0.1
    if collected:
        negatives = nn.functional.normalize(torch.cat(collected))
        logits = torch.cat([logits, nn.functional.normalize(za) @ negatives.T / 0.1], 1)
    loss = nn.functional.cross_entropy(logits, torch.arange(128))
    opt.zero_grad()
    loss.backward()
    opt.step()
    collected.append(zb.detach())
    if len(collected) == 8:
        collected.clear()
    if step % 20 == 0:
        print(step, loss.item(), len(collected), flush=True)
