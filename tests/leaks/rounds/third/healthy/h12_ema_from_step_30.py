"""ema_pytorch: the averaged copy is made lazily when training has warmed up (step 30): one copy more, once."""
# /// healthy
# dumps = "steps"
# ///
import torch
from ema_pytorch import EMA

torch.manual_seed(0)
torch.set_num_threads(1)

net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
ema = None
for step in range(1, 67):
    x = torch.randn(16, 256)
    loss = (net(x) - x.flip(1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step == 30:
        ema = EMA(net, beta=0.98, update_after_step=0, update_every=1, include_online_model=False)
    if ema is not None:
        ema.update()
with torch.no_grad():
    print("ema", round((ema(x) - x.flip(1)).pow(2).mean().item(), 3))
