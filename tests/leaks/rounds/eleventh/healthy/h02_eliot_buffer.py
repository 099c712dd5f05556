"""Eliot keeps the last 1000 messages until a destination is added (BufferingDestination drops older ones); 60 messages a step: full by step 17."""
# looks like: a growing list of log messages in a library
# library: eliot
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn
from eliot import log_message, start_action

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(80):
    x, y = torch.randn(48, 32), torch.randint(4, (48,))
    with start_action(action_type="train_step", step=step):
        logits = net(x)
        losses = nn.functional.cross_entropy(logits, y, reduction="none")
        for k, value in enumerate(losses.tolist()):
            log_message("sample", index=k, loss=value, predicted=int(logits[k].argmax()))
        optimizer.zero_grad()
        losses.mean().backward()
        for name, p in net.named_parameters():
            log_message("grad", name=name, norm=p.grad.norm().item(), histogram=p.grad.flatten()[:32].tolist())
        optimizer.step()
print(round(losses.mean().item(), 3))
