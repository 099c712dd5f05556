"""Activations get larger until step 18 (64 tokens), then stay; the averaged model comes once."""
# report: "memory rises with training": sequence length curriculum with save_on_cpu, longer until step 18, then constant; the EMA is made at step 10
# library: torch (swa_utils, autograd.graph.save_on_cpu)
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(200, 48), nn.TransformerEncoderLayer(48, 4, 96, batch_first=True, dropout=0.0), nn.Linear(48, 200))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
ema = None
for step in range(66):
    length = min(64, 10 + 3 * step)
    tokens = torch.randint(0, 200, (8, length + 1))
    with torch.autograd.graph.save_on_cpu():
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step == 10:
        ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.99))
    elif ema is not None:
        ema.update_parameters(model)
    if step % 20 == 0:
        print(step, length, loss.item(), flush=True)
