"""An evaluation over steps: predictions and targets of the last 12 steps are collected for a score and cleared every 12 steps (when a dump is written in the optimizer step of 20, 40, 60: 7, 3, 11 entries of 16 KiB)."""
# looks like: lists of tensors that grow for many steps
# library: torch only
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn

torch.manual_seed(0)


class OnlineAUC:
    def __init__(self):
        self.scores, self.targets, self.history = [], [], []

    def update(self, scores, targets):
        self.scores.append(scores.detach())
        self.targets.append(targets)

    def compute(self):
        s, t = torch.cat(self.scores), torch.cat(self.targets).bool()
        order = s.argsort()
        ranks = torch.empty_like(order)
        ranks[order] = torch.arange(len(s))
        pos, neg = int(t.sum()), int((~t).sum())
        auc = (ranks[t].sum().item() - pos * (pos - 1) / 2) / max(1, pos * neg)
        self.history.append(round(auc, 4))
        self.scores.clear()
        self.targets.clear()


net = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adamax(net.parameters(), lr=2e-3)
metric = OnlineAUC()
for step in range(1, 91):
    x = torch.randn(2048, 40)
    y = (x[:, 0] + 0.5 * x[:, 1] + 0.3 * torch.randn(2048) > 0).float()
    logits = net(x)[:, 0]
    loss = nn.functional.binary_cross_entropy_with_logits(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    metric.update(logits, y)
    if step % 12 == 0:
        metric.compute()
print(metric.history)
