"""The EMA has one copy of the weights; HistoryBuffer(max_length=16) keeps 16 numbers; the hub's info is overwritten under one name. Bounded from step 16 on."""
# report: "HistoryBuffer and EMA of mmengine: memory after warm-up"
# kind: EMA model and history with max_length
# library: mmengine
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 3.1, 0.1
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from mmengine.logging import HistoryBuffer, MessageHub
from mmengine.model import ExponentialMovingAverage

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 8))
ema = ExponentialMovingAverage(model, momentum=0.01)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
losses = HistoryBuffer(max_length=16)
hub = MessageHub.get_instance("train")
for step in range(1, 101):
    x = torch.randn(128, 64)
    out = model(x)
    loss = nn.functional.cross_entropy(out, x[:, :8].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update_parameters(model)
    losses.update(loss.item())
    hub.update_info("last_output", out.detach())
    hub.update_info("ema_output", ema(x).detach())
    if step % 25 == 0:
        print(step, losses.mean(10), flush=True)
