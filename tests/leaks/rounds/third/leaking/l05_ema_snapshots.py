"""Snapshots for an average after the fact are kept in memory, every second step."""
# after: lucidrains/ema-pytorch: post-hoc EMA
# fix: save the snapshot to a file (torch.save) or keep the last k
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "posthoc.snapshots"
# lines = ["self.snapshots.append((step, copy.deepcopy("]
# bytes = 148224  # 2 x (192 x 192 + 192) floats every second step
# ///
import copy
import torch
from ema_pytorch import EMA

torch.manual_seed(0)
torch.set_num_threads(1)


class PostHoc:
    def __init__(self, every):
        self.every, self.snapshots = every, []

    def keep(self, step, ema):
        if step % self.every == 0:
            self.snapshots.append((step, copy.deepcopy(ema.ema_model)))


net = torch.nn.Sequential(torch.nn.Linear(192, 192), torch.nn.GELU(), torch.nn.Linear(192, 192))
ema = EMA(net, beta=0.99, update_after_step=0, update_every=1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
posthoc = PostHoc(2)
for step in range(1, 67):
    x = torch.randn(16, 192)
    loss = (net(x) - x.roll(1, 1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update()
    posthoc.keep(step, ema)
print(len(posthoc.snapshots), "snapshots", round(loss.item(), 3))
