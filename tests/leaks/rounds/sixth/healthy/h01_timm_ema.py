"""The EMA is one copy of the model; the scheduler keeps numbers; AverageMeter gets loss.item()."""
# looks like: a second model that "appears" and is written each step; a warm-up of 5 steps
# library: timm (ModelEmaV3, create_model-like blocks, CosineLRScheduler)
# /// healthy
# dumps = "steps"
# ///
import torch
from timm.layers import Mlp
from timm.scheduler import CosineLRScheduler
from timm.utils import AverageMeter, ModelEmaV3
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(Mlp(64, 256, 64), nn.LayerNorm(64), Mlp(64, 256, 10))
ema = ModelEmaV3(net, decay=0.99, use_warmup=True)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
sched = CosineLRScheduler(opt, t_initial=64, warmup_t=5, warmup_lr_init=1e-5)
losses = AverageMeter()
for step in range(64):
    bs = 32 if step < 16 else 64
    x, y = torch.randn(bs, 64), torch.randint(0, 10, (bs,))
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(net, step=step)
    sched.step_update(step)
    losses.update(loss.item(), bs)
    if step % 10 == 9:
        with torch.no_grad():
            val = nn.functional.cross_entropy(ema(torch.randn(512, 64)), torch.randint(0, 10, (512,)))
print(losses.avg, val.item())
